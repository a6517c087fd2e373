#!/bin/sh
# Build perftest VERSION (such as 25.01.0+0.80) against rdma-core RDMA_CORE (such as 56.1),
# beside the machine's own: Debian 12 packages one that knows no RDMA write for SRD, and no
# events with it.
#
# usage: perftest.sh VERSION RDMA_CORE
# Prints the folder of the tools. Exit 77: it cannot be had here, and why.
set -eu
. "$(dirname "$0")/debian.sh"

version=${1:?usage: perftest.sh VERSION RDMA_CORE} core=${2:?usage: perftest.sh VERSION RDMA_CORE}
what="perftest $version"
dir=$cache/perftest-$version-$core

libraries=$("$(dirname "$0")/rdma-core.sh" "$core") # exit 77 with the reason
need_tools apt-get autoreconf libtoolize make pkg-config
need_libraries libpci
once "$dir"
debian_source "$dir" perftest "$version"

tools="ib_read_bw ib_read_lat ib_write_bw ib_write_lat ib_send_bw ib_send_lat"
build() {
	# perftest finds mlx5's header there, and wants its library then.
	ninja -C "$libraries" mlx5 || return
	cd "$dir/source" && ./autogen.sh || return
	mkdir -p "$dir/build" && cd "$dir/build" || return
	../source/configure CPPFLAGS="-I$libraries/include" \
		LDFLAGS="-L$libraries/lib -Wl,-rpath,$libraries/lib" || return
	# shellcheck disable=SC2086
	make -j "$(nproc)" $tools
}
building "$dir/log" build
touch "$dir/built"
echo "$dir/build"
