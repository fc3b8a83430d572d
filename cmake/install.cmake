# SPDX-License-Identifier: BSD-2-Clause
# What `make install` writes that belongs to no single target: the licence and the README. Programs
# go to bin; the libraries to lib/uroce, a folder of their own: in lib/ they would take the place of
# the system's for every program.
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/README.md" DESTINATION share/doc/uroce)
