# SPDX-License-Identifier: BSD-2-Clause
# Thin front to CMake + Ninja; every goal is described in CONTRIBUTING.md.
PREFIX ?= /usr/local
CMAKE  ?= cmake

.PHONY: all debug tsan clang fuzz-build

all:
	@$(CMAKE) --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@$(CMAKE) --build build

debug tsan clang:
	@$(CMAKE) --preset $@ >/dev/null
	@$(CMAKE) --build build-$@
