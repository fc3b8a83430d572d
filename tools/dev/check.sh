#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests of build trees that are up to date (the Makefile sees to that) and ends with one
# line, `N passed, N failed`; non-zero when anything failed.
#   check.sh quick   format and layers, then the release tests labelled unit, vector or tidy
#   check.sh all     format, then all tests in debug (ASan, UBSan) and in release
set -u
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0
skipped=0

count_in() { # FILE ATTRIBUTE: of the first <testsuite> of a JUnit file
	sed -n "s/.*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1
}

count_row() { # NAME COMMAND...: printed like a row of the scripts of tests/ when it fails
	name=$1
	shift
	if output=$("$@" 2>&1); then
		[ -z "$output" ] || echo "$output"
		passed=$((passed + 1))
	else
		echo "  FAIL $name"
		echo "$output" | sed 's/^/       | /'
		failed=$((failed + 1))
	fi
}

check_format() {
	if ! command -v clang-format >/dev/null; then
		echo "format: skipped, no clang-format here"
		skipped=$((skipped + 1))
		return
	fi
	count_row "format: run make format" tools/dev/format.sh
}

run_tests() { # BUILD_DIR CTEST_ARGUMENT...
	dir=$1
	shift
	result=$(mktemp)
	echo "== $dir"
	# more than there are processors: what lasts waits half of its time
	ctest --test-dir "$dir" --output-on-failure -j "$(($(nproc) + 1))" --output-junit "$result" "$@"
	tests=$(count_in "$result" tests)
	bad=$(count_in "$result" failures)
	left=$(($(count_in "$result" skipped) + $(count_in "$result" disabled)))
	rm -f "$result"
	if [ "${tests:-0}" = 0 ]; then
		echo "$dir: no test was run" >&2
		failed=$((failed + 1))
		return
	fi
	passed=$((passed + tests - bad - left))
	failed=$((failed + bad))
	skipped=$((skipped + left))
}

check_marks() { # every ROCE_MARK was hit by the debug tests
	count_row marks tools/dev/marks.py build-debug
}

case ${1:-} in
quick)
	check_format
	run_tests build -L 'unit|vector|tidy'
	;;
all)
	check_format
	tools/dev/marks.py --forget build-debug
	run_tests build-debug
	check_marks
	run_tests build
	;;
*)
	echo "usage: check.sh quick|all" >&2
	exit 2
	;;
esac

if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ]
