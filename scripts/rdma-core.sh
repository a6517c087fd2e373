#!/bin/sh
# Build rdma-core VERSION (such as 56.1) beside the machine's own, for tests against a newer
# libefa than the distribution packages. The source is Debian's own source package, from
# whichever newer Debian release has that version, by the apt sources of this machine but
# with lists of its own: nothing of the system changes.
#
# usage: rdma-core.sh VERSION [DIR]
#   DIR  default: ${SRDLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srdlab}/rdma-core-VERSION
# Prints the folder of the build, for `meson setup -Drdma_core=FOLDER`. Run again, it finds
# what it built. Exit 77: it cannot be had here, and why.
set -eu

version=${1:?usage: rdma-core.sh VERSION [DIR]}
cache=${SRDLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srdlab}
dir=${2:-$cache/rdma-core-$version}
suites="trixie forky sid"

skip() {
	echo "rdma-core.sh: rdma-core $version cannot be built here: $*" >&2
	exit 77
}

if [ -e "$dir/built" ]; then
	echo "$dir/build"
	exit 0
fi

missing=
for tool in apt-get cmake ninja pkg-config; do
	command -v $tool >/dev/null || missing="$missing $tool"
done
[ -z "$missing" ] || skip "missing:$missing"
for lib in libnl-3.0 libnl-route-3.0 libudev; do
	pkg-config --exists $lib || missing="$missing $lib"
done
[ -z "$missing" ] || skip "missing development packages:$missing"

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9>"$dir/lock"
flock 9
if [ -e "$dir/built" ]; then
	echo "$dir/build"
	exit 0
fi

# The archive that this machine takes Debian from.
# shellcheck disable=SC2016
archive=$(apt-get indextargets 'Created-By: Packages' --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' |
	sed -n 's/^Debian|Debian|//p' | head -n 1)
[ -n "$archive" ] || skip "apt knows no Debian archive (is 'apt-get update' needed?)"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e $keyring ] || skip "no $keyring"

apt=$dir/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
private() {
	tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o APT::Update::Post-Invoke-Success::= -o APT::Update::Post-Invoke::= "$@"
}

# The first release that has the version.
fetch() {
	for suite in $suites; do
		echo "deb-src [signed-by=$keyring] $archive $suite main" >"$apt/sources.list"
		private apt-get update >"$apt/log" 2>&1 || continue
		full=$(private apt-cache showsrc rdma-core |
			awk -v v="$version" '$1 == "Version:" && index($2, v "-") == 1 { print $2; exit }')
		[ -n "$full" ] || continue
		(cd "$dir" && private apt-get source --download-only --tar-only "rdma-core=$full") \
			>"$apt/log" 2>&1 && return 0
	done
	return 1
}
fetch || skip "no Debian release among '$suites' offers it to this machine"

rm -rf "$dir/source"
mkdir "$dir/source"
tar -xf "$dir/rdma-core_$version.orig.tar."* -C "$dir/source" --strip-components=1

# IN_PLACE: the build tree finds its own providers. Without it "No IB devices found". Only
# what EFA needs is built; `ninja -C FOLDER` builds the rest, static libraries too.
targets="ibverbs efa rdmacm ibumad ibv_devices ibv_devinfo"
log=$dir/log
# shellcheck disable=SC2086
if ! { cmake -GNinja -S "$dir/source" -B "$dir/build" -DIN_PLACE=1 -DENABLE_STATIC=1 \
	-DNO_MAN_PAGES=1 -DNO_PYVERBS=1 -DCMAKE_BUILD_TYPE=RelWithDebInfo &&
	ninja -C "$dir/build" $targets; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	skip "the build failed: $log"
fi
rm -rf "$apt"
touch "$dir/built"
echo "$dir/build"
