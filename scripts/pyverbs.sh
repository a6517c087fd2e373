#!/bin/sh
# Build pyverbs of rdma-core VERSION beside the libraries that rdma-core.sh built, for its own
# tests. It takes some minutes, once. Needs cython3 and python3-dev.
#
# usage: pyverbs.sh VERSION
# Prints the folder for PYTHONPATH. Exit 77: it cannot be had here, and why.
set -eu

version=${1:?usage: pyverbs.sh VERSION}
here=$(cd "$(dirname "$0")" && pwd)

skip() {
	echo "pyverbs.sh: pyverbs $version cannot be built here: $*" >&2
	exit 77
}

libraries=$("$here/rdma-core.sh" "$version") # exit 77 with the reason
dir=$(cd "$libraries/.." && pwd)
build=$dir/pyverbs
if [ -e "$build/complete" ]; then
	echo "$build/python"
	exit 0
fi
[ -x /usr/bin/cython3 ] || skip "missing: cython3"
[ -e /usr/include/python3"$(/usr/bin/python3 -c 'import sys; print(".%d" % sys.version_info[1])')"/Python.h ] ||
	skip "missing: python3-dev"

exec 9>"$dir/lock"
flock 9
# The system's Python, which its cython3 belongs to, whatever comes first in PATH.
if ! { PATH=/usr/bin:/bin:$PATH cmake -GNinja -S "$dir/source" -B "$build" -DIN_PLACE=1 \
	-DNO_MAN_PAGES=1 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPYTHON_EXECUTABLE=/usr/bin/python3 \
	-DPython_EXECUTABLE=/usr/bin/python3 &&
	ninja -C "$build" -t targets all >"$build/targets" &&
	sed -n 's|^\(python/pyverbs/[^:]*\.so\):.*|\1|p' "$build/targets" | xargs ninja -C "$build" efa &&
	ninja -C "$build" -t targets all | sed -n 's|^\(python/pyverbs/[^:]*\.py\):.*|\1|p' |
		xargs -r ninja -C "$build"; } >"$dir/pyverbs.log" 2>&1; then
	tail -n 20 "$dir/pyverbs.log" >&2
	skip "the build failed: $dir/pyverbs.log"
fi
touch "$build/complete"
echo "$build/python"
