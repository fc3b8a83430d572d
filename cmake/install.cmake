# SPDX-License-Identifier: BSD-2-Clause
# What `make install` writes that belongs to no single target: the licence, the README, the systemd
# unit (not enabled: a uroced is started on demand without it). Programs go to bin; the libraries to
# lib/uroce, a folder of their own: in lib/ they would take the place of the system's for every
# program.
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/README.md" DESTINATION share/doc/uroce)

configure_file("${CMAKE_SOURCE_DIR}/tools/systemd/uroced.service.in"
	"${CMAKE_BINARY_DIR}/uroced.service" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/uroced.service" DESTINATION lib/systemd/system)
