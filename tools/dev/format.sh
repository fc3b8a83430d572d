#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# clang-format over all tracked C files: says which lines are off and fails, or with --fix rewrites
# them. `git clang-format` does the same for changed lines only (hooks/pre-commit).
set -eu
cd "$(dirname "$0")/../.."

case ${1:-} in
"") git ls-files '*.c' '*.h' | xargs -r clang-format --dry-run -Werror ;;
--fix) git ls-files '*.c' '*.h' | xargs -r clang-format -i ;;
*)
	echo "usage: format.sh [--fix]" >&2
	exit 2
	;;
esac
