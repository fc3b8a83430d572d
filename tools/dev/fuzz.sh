#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs one fuzz target of build-fuzz/: fuzz.sh NAME [LIBFUZZER_ARGUMENT...]; its corpus is in
# tests/fuzz/corpus/NAME. Without a name it lists the targets.
set -eu
cd "$(dirname "$0")/../.."

name=${1:-}
[ $# -gt 0 ] && shift
target=build-fuzz/fuzz/$name
if [ -z "$name" ] || [ ! -x "$target" ]; then
	echo "usage: make fuzz T=NAME [ARGS='-max_total_time=60 ...']; targets:" >&2
	find build-fuzz/fuzz -maxdepth 1 -type f -perm -u+x 2>/dev/null | sed 's|.*/|  |' >&2
	exit 2
fi
corpus=tests/fuzz/corpus/$name
mkdir -p "build-fuzz/corpus/$name"
[ -d "$corpus" ] || corpus=
# shellcheck disable=SC2086  # the second folder is optional
exec "$target" -max_total_time=60 "$@" "build-fuzz/corpus/$name" $corpus
