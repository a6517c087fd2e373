#!/bin/sh
# Build rdma-core VERSION (such as 56.1) beside the machine's own, for tests against a newer
# libefa than the distribution packages.
#
# usage: rdma-core.sh VERSION [DIR]
#   DIR  default: ${SRDLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srdlab}/rdma-core-VERSION
# Prints the folder of the build; srdlab is built against it with PKG_CONFIG_PATH set to its
# lib/pkgconfig. Run again, it finds what it built. Exit 77: it cannot be had here, and why.
set -eu
. "$(dirname "$0")/debian.sh"

version=${1:?usage: rdma-core.sh VERSION [DIR]}
what="rdma-core $version"
dir=${2:-$cache/rdma-core-$version}

if [ -e "$dir/built" ]; then
	echo "$dir/build"
	exit 0
fi
need_tools apt-get cmake ninja pkg-config
need_libraries libnl-3.0 libnl-route-3.0 libudev
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
once "$dir"
debian_source "$dir" rdma-core "$version"

# IN_PLACE: the build tree finds its own providers. Without it "No IB devices found". Only
# what EFA needs is built; `ninja -C FOLDER` builds the rest, static libraries too.
targets="ibverbs efa rdmacm ibumad ibv_devices ibv_devinfo"
build() {
	cmake -GNinja -S "$dir/source" -B "$dir/build" -DIN_PLACE=1 -DENABLE_STATIC=1 \
		-DNO_MAN_PAGES=1 -DNO_PYVERBS=1 -DCMAKE_BUILD_TYPE=RelWithDebInfo || return
	# shellcheck disable=SC2086
	ninja -C "$dir/build" $targets
}
building "$dir/log" build
touch "$dir/built"
echo "$dir/build"
