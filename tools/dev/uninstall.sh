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
folders=
while read -r file || [ -n "$file" ]; do
	rm -f "$destdir$file"
	case $file in
	*/uroce/*) folders="$folders ${file%%/uroce/*}/uroce" ;;
	esac
done <"$manifest"
for folder in $folders; do
	[ -d "$destdir$folder" ] && find "$destdir$folder" -depth -type d -empty -delete
done
exit 0
