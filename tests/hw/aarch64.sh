#!/bin/sh
# Every file of the engine, the mock and the EFA backend compiles for aarch64 without a
# warning. usage: aarch64.sh   in a folder of its own
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$PWD/aarch64

if ! echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -c -x c -o /dev/null - 2>/dev/null; then
	echo "no aarch64-linux-gnu-gcc with a C library here"
	exit 77
fi
[ -f "$work/build.ninja" ] || meson setup "$work" "$top" --werror \
	--cross-file "$top/scripts/aarch64.ini" >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
archives=$(ninja -C "$work" -t targets all | sed -n 's/^\(\(src\|sim\|hw\)\/[^:]*\.a\): .*/\1/p')
[ -n "$archives" ]
# shellcheck disable=SC2086
ninja -C "$work" $archives >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
# shellcheck disable=SC2086
for archive in $archives; do
	aarch64-linux-gnu-objdump -f "$work/$archive" 2>/dev/null | grep -c 'architecture: aarch64' |
		sed "s|^|$archive: |"
done
