# SPDX-License-Identifier: BSD-2-Clause
# Thin front to CMake + Ninja; CONTRIBUTING.md describes the goals, `make help` lists them.
PREFIX ?= /usr/local
DESTDIR ?=
CMAKE  ?= cmake
SEED   ?= 1
T      ?=
ARGS   ?=

.PHONY: all debug tsan clang fuzz-build quick check programs conform verify-faults interop gallery bench bench-sim sim validate schema fuzz demo install uninstall \
	clean stats format help

all: ## release into build/
	@$(CMAKE) --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@$(CMAKE) --build build

debug: ## with ASan and UBSan into build-debug/
tsan: ## with ThreadSanitizer into build-tsan/
clang: ## release by clang into build-clang/
debug tsan clang:
	@$(CMAKE) --preset $@ >/dev/null
	@$(CMAKE) --build build-$@

fuzz-build:
	@$(CMAKE) --preset fuzz >/dev/null
	@$(CMAKE) --build build-fuzz

quick: all ## format, layers, unit tests and vectors: may I commit? (below a minute)
	@tools/dev/check.sh quick

check: all debug ## every test, debug (ASan, UBSan) and release (below ten minutes)
	@tools/dev/check.sh all

programs: all ## the unmodified programs, row by row; ARGS=--short, --list, --only NAME
	@tests/programs/run.py $(ARGS)

verify-faults: all ## each planted fault is caught by its case of uroce verify; ARGS=--short, --only NAME
	@tests/verify/planted.py build $(ARGS)

conform: all ## rdma-core 44's own tests, Debian's or those of RDMA_CORE_TESTS=DIR, a checkout
	@RDMA_CORE_TESTS=$(RDMA_CORE_TESTS) tests/programs/run.py --only conform

interop: all ## against Linux Soft-RoCE in a virtual machine; ARGS=--short, --list, --only NAME
	@tests/interop/run.py $(ARGS)

bench: all ## measure beside TCP and bare UDP; RECORD=1 appends to bench/HISTORY.md
	@bench/run.py $(if $(RECORD),--record) $(ARGS)

bench-sim: all ## speed and size of the network simulator; beside HPCC ns-3 with HPCC_NS3=DIR, a built checkout
	@bench/sim/run.py build $(ARGS)

sim: all ## replay one seed of the simulated link with its trace: make sim SEED=42
	@build/tests/sim-rc --seed $(SEED) --trace $(ARGS)

gallery: all ## the pictures of scenarios/*.md, from the reports of their scenarios
	@tools/dev/gallery.py build/bin/uroce $(ARGS)

validate: all ## what the simulator is held to, measured; ARGS=--csv, --write (docs/validation.md), --check
	@tests/fabric/validate.py build $(ARGS)

schema: all ## scenarios/schema.json, from the tables of keys
	@build/bin/uroce sim --schema > scenarios/schema.json

fuzz: fuzz-build ## libFuzzer on one target: make fuzz T=NAME (no T: lists them)
	@tools/dev/fuzz.sh "$(T)" $(ARGS)

demo: all ## two unmodified programs over the device of lo, and between two namespaces
	@tools/demo.py $(ARGS)

install: all ## into $(DESTDIR)$(PREFIX)
	@DESTDIR=$(DESTDIR) $(CMAKE) --install build --prefix $(PREFIX)

uninstall: ## what the last install wrote
	@tools/dev/uninstall.sh build/install_manifest.txt "$(DESTDIR)"

clean: ## removes all build trees
	@rm -rf build build-debug build-tsan build-clang build-fuzz

stats: ## the ten longest files
	@git ls-files '*.c' '*.h' '*.py' '*.sh' | xargs wc -l | sort -rn | sed -n '2,11p'

format: ## clang-format on all C files
	@tools/dev/format.sh --fix

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' Makefile | while read -r goal text; do \
		printf '  make %-10s %s\n' "$$goal" "$$text"; done
