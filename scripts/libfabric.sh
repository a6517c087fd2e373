#!/bin/sh
# Build libfabric VERSION (such as 2.1.0) with the providers that a bench sets beside the device
# (tcp, shm), and of its fabtests what measures RMA; beside the machine's own, from Debian's
# source. It takes some minutes, once.
#
# usage: libfabric.sh VERSION
# Prints the folder of the programs. Exit 77: it cannot be had here, and why.
set -eu
. "$(dirname "$0")/debian.sh"

version=${1:?usage: libfabric.sh VERSION}
what="libfabric $version"
dir=$cache/libfabric-$version

need_tools apt-get autoreconf libtoolize make
once "$dir"
debian_source "$dir" libfabric "$version"

tools="fi_rma_bw fi_rma_pingpong"
build() {
	cd "$dir/source" && ./autogen.sh || return
	./configure --prefix="$dir/installed" --enable-only --enable-tcp --enable-shm --disable-static || return
	make -j "$(nproc)" install || return
	cd fabtests && ./autogen.sh || return
	./configure --with-libfabric="$dir/installed" LDFLAGS="-Wl,-rpath,$dir/installed/lib" || return
	mkdir -p "$dir/build"
	for tool in $tools; do
		make -j "$(nproc)" "benchmarks/$tool" && cp "benchmarks/$tool" "$dir/build" || return
	done
}
building "$dir/log" build
touch "$dir/built"
echo "$dir/build"
