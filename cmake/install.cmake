# SPDX-License-Identifier: BSD-2-Clause
# What `make install` writes that belongs to no single target. The libraries go into a folder of
# their own, lib/uroce: in lib/ they would take the place of the system's for every program.
set(ROCE_LIBRARY_DESTINATION lib/uroce)

install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/README.md" DESTINATION share/doc/uroce)
