#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# clang-format over all C files (tracked ones, where git knows the tree): says which lines are off and fails, or with --fix rewrites
# them. `git clang-format` does the same for changed lines only (hooks/pre-commit).
set -eu
cd "$(dirname "$0")/../.."

list() {
	git ls-files '*.c' '*.h' 2>/dev/null ||
		find . -path './build*' -prune -o -name '*.[ch]' -print
}

case ${1:-} in
"") list | xargs -r clang-format --dry-run -Werror ;;
--fix) list | xargs -r clang-format -i ;;
*)
	echo "usage: format.sh [--fix]" >&2
	exit 2
	;;
esac
