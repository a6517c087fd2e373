#!/bin/sh
# srdlab against a newer rdma-core: it builds without a warning, its generated constants are
# those of the newer headers and sources, the tests of the EFA backend pass, and so does the
# suite through it on the software device.
# usage: rdma_core.sh VERSION   in an empty or used folder of its own
set -eu
version=$1
top=$(cd "$(dirname "$0")/../.." && pwd)

folder=$("$top/scripts/rdma-core.sh" "$version") # exit 77 with the reason: skipped
work=$PWD/rdma-core-$version
libraries=$folder/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

lua5.4 "$top/tests/hw/statuses.lua" "$top/scripts/spec" "$folder/../source/providers/efa"
lua5.4 "$top/tests/hw/efa_abi.lua" "$top/scripts/spec" "$folder/../source"

[ -f "$work/build.ninja" ] || PKG_CONFIG_PATH=$libraries meson setup "$work" "$top" --werror \
	-Defa=enabled >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
targets=$(cd "$top/tests/unit" && for test in hw_[!f]*.c; do echo "tests/unit/test_${test%.c}"; done)
# shellcheck disable=SC2086
ninja -C "$work" srdlab hw/softefa/libsrdlab-softefa.so $targets >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
grep -q "SRD_RDMA_CORE_VERSION \"$version\"" "$work/hw/hw_config.h"
grep -q 'HAVE_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE 1' "$work/hw/hw_config.h"
ldd "$work/srdlab" | grep -q "libefa.so.1 => $folder/lib/"
for target in $targets; do
	"$work/$target"
done

# The device serves faults: nothing is skipped for want of them, and of the scenarios that
# ask for them, a place each, at least these many have run.
with_faults() {
	if grep 'needs \\"faults\\"' "$traces-device.json"; then
		exit 1
	fi
	"$work/srdlab" list --verbose scripts/scenarios |
		awk '/^[^ ]/ { place = $1 } /^ +needs:.* faults/ { print place }' | sort -u >"$work.log"
	num=$(printf '%s\n' "$ran" | grep -cxFf "$work.log")
	echo "$num places of scenarios with faults ran"
	[ "$num" -ge 55 ]
}

# Every portable scenario, through this rdma-core's own libraries on the software device, and
# again on the mock: by the traces of both they do the same.
# same ORDER "OPTIONS OF compare_traces.lua" [--filter '!NAME']...     NAME: is not compared
same() {
	order=$1 options=$2 traces=$work/traces-$1
	shift 2
	"$work/srdlab" exec --clock called --order "$order" -- "$work/srdlab" run --backend efa --replay-dir "" \
		--trace "$traces-device.trace" --json "$traces-device.json" \
		scripts/scenarios >"$work.log" ||
		{ cat "$work.log"; exit 1; }
	tail -n 1 "$work.log"
	ran=$(sed -n 's/^{"file":"\([^"]*\)","name":.*,"line":\([0-9]*\),"seed":.*"verdict":"passed".*/\1:\2/p' \
		"$traces-device.json" | sort -u)
	with_faults
	# shellcheck disable=SC2086
	"$work/srdlab" run -D order="$order" "$@" --replay-dir "" \
		--trace "$traces-mock.trace" --json "$traces-mock.json" $ran >"$work.log" ||
		{ cat "$work.log"; exit 1; }
	# shellcheck disable=SC2086
	lua5.4 tests/hw/compare_traces.lua "$work/srdlab" scripts/spec "$traces-mock" "$traces-device" $options
	rm -f "$traces"-*
}
cd "$top"
# An rdma-core without its change 1616 (56.1: without) shows nothing of a queue that no queue
# pair uses any more. The mock is as it is with the change: the rest of such a queue can be
# polled.
set --
if [ "$version" = 56.1 ]; then
	set -- --filter '!a failed poll ends the scheduler'
fi
# Rails that fail take a stripe whenever they have room, and those of the mock have a link each.
set -- "$@" --filter '!a rail that dies hands its stripes' --filter '!a stripe that fails for a cause of its own'
# The course of a scenario with the tag seeds depends on what arrives first.
same random "" "$@" --filter '!tag:seeds' --filter '!every packet is sent until it has arrived'
# In order it does not.
same in_order "--in-order --prove" "$@" --filter '!puts and gets of any size over' \
	--filter '!transfers do not overtake each other'
