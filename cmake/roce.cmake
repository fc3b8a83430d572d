# SPDX-License-Identifier: BSD-2-Clause
# Build rules shared by all folders: flags, roce_library(), roce_unit_test().

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(ROCE_SANITIZE "" CACHE STRING "sanitizers for every target: address,undefined or thread")
option(ROCE_FUZZ "build the fuzz targets with libFuzzer (clang)" OFF)

# -O2 and assertions in every build: ROCE_ASSERT does not depend on NDEBUG.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer -DROCE_DEBUG=1")

add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wswitch-enum -Wstrict-prototypes
	-Wmissing-prototypes -Wvla -Werror -fvisibility=hidden -fno-strict-aliasing)
add_compile_definitions(_GNU_SOURCE UROCE_VERSION="${PROJECT_VERSION}")

if(ROCE_SANITIZE)
	add_compile_options(-fsanitize=${ROCE_SANITIZE} -fno-sanitize-recover=all)
	add_link_options(-fsanitize=${ROCE_SANITIZE})
endif()
if(ROCE_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# Libraries and programs see each other by "folder/header.h" relative to src/.
function(roce_target_setup target)
	target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src")
endfunction()

# roce_library(<name> SOURCES a.c b.c [LINK other targets]): the static library roce_<name>.
function(roce_library name)
	cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
	add_library(roce_${name} STATIC ${ARG_SOURCES})
	roce_target_setup(roce_${name})
	target_link_libraries(roce_${name} PRIVATE ${ARG_LINK})
endfunction()

# roce_unit_test(<file without .c> LINK targets...): <file>.c is a cmocka program beside the code.
function(roce_unit_test name)
	cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
	if(NOT ARG_LABELS)
		set(ARG_LABELS unit)
	endif()
	set(main_source ${name}.c)
	get_filename_component(name ${name} NAME)
	add_executable(${name} ${main_source} ${ARG_SOURCES})
	roce_target_setup(${name})
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
	target_link_libraries(${name} PRIVATE ${ARG_LINK} PkgConfig::CMOCKA)
	if(CMAKE_BUILD_TYPE STREQUAL "Debug")
		target_sources(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/marks/collect.c")
	endif()
	add_test(NAME ${name} COMMAND ${name})
	set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600
		ENVIRONMENT "UROCE_SOURCE_DIR=${CMAKE_SOURCE_DIR};UROCE_MARKS=${CMAKE_BINARY_DIR}/marks;TSAN_OPTIONS=die_after_fork=0")
endfunction()
