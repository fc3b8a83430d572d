#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Random packets of ours before a checker that shares no code with us; it must find one damaged bit.
#   independent_test.sh RANDOM_FRAMES PYTHON ICRC_CHECK
set -eu
file=$(mktemp)
trap 'rm -f "$file"' EXIT

expect() {
	wanted=$1
	shift
	"$frames" "$file" "$@"
	got=$("$python" -B "$checker" "$file") || true
	echo "$got"
	[ "$got" = "$wanted" ]
}

frames=$1 python=$2 checker=$3
expect "1000 packets, 0 wrong"
expect "1000 packets, 1 wrong" --damage-last
