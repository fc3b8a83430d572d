#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Removes the files that the last install wrote, and the folders of ours that are empty then:
# uninstall.sh MANIFEST DESTDIR
set -eu

manifest=$1
destdir=$2
if [ ! -r "$manifest" ]; then
	echo "uninstall: no $manifest: nothing was installed from this tree" >&2
	exit 1
fi
while read -r file || [ -n "$file" ]; do
	rm -f "$destdir$file"
	dir=$(dirname "$file")
	case $dir in
	*/uroce | */uroce/*) rmdir "$destdir$dir" 2>/dev/null || true ;;
	esac
done <"$manifest"
