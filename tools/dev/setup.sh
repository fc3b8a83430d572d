#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the packages of packages.txt that are missing: setup.sh GROUP... (build, programs, interop, check).
# Asks no question; needs apt, and root or sudo, only when something is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

missing() {
	for group; do
		sed -n "s/^$group  *\([^ ]*\).*/\1/p" "$here/packages.txt"
	done | while read -r package; do
		case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
		"install ok installed") ;;
		*) echo "$package" ;;
		esac
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "setup: root is needed to install packages: run this as root or install sudo" >&2
		exit 1
	fi
}

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; see tools/dev/packages.txt for what must be there" >&2
	exit 0
fi
packages=$(missing "$@")
[ -n "$packages" ] || exit 0

# shellcheck disable=SC2086  # one word a package
echo "setup: installing" $packages
as_root apt-get -q update >/dev/null || echo "setup: apt-get update failed; trying the lists at hand" >&2
log=$(mktemp)
# shellcheck disable=SC2086  # one word a package
if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install \
	$packages >"$log" 2>&1 </dev/null; then
	cat "$log" >&2
	rm -f "$log"
	echo "setup: the packages could not be installed (above is what apt said)" >&2
	exit 1
fi
rm -f "$log"
