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
# ask for them, a place each, at least this many have run.
with_faults() {
	if grep 'needs \\"faults\\"' "$traces-device.json"; then
		exit 1
	fi
	"$work/srdlab" list --verbose scripts/scenarios |
		awk '/^[^ ]/ { place = $1 } /^ +needs:.* faults/ { print place }' | sort -u >"$work.log"
	num=$(printf '%s\n' "$ran" | grep -cxFf "$work.log")
	echo "$num places of scenarios with faults ran"
	[ "$num" -ge "$1" ]
}

# Every portable scenario, through this rdma-core's own libraries on the software device, and
# again on the mock: by the traces of both they do the same. What this rdma-core is too old for
# is skipped there by itself; its names are in $old for the mock, where it may stand at the place
# of another that ran.
# same ORDER FAULTS "OPTIONS OF compare_traces.lua" [OPTION OF EXEC]...     $apart: filters of
# what is not compared
same() {
	order=$1 faults=$2 options=$3 traces=$work/traces-$1
	shift 3
	"$work/srdlab" exec --clock called "$@" -- "$work/srdlab" run --backend efa --replay-dir "" -D order="$order" \
		--trace "$traces-device.trace" --json "$traces-device.json" scripts/scenarios >"$work.log" ||
		{ cat "$work.log"; exit 1; }
	tail -n 1 "$work.log"
	ran=$(sed -n 's/^{"file":"\([^"]*\)","name":.*,"line":\([0-9]*\),"seed":.*"verdict":"passed".*/\1:\2/p' \
		"$traces-device.json" | sort -u)
	with_faults "$faults"
	eval "set -- $old $apart"
	# shellcheck disable=SC2086
	"$work/srdlab" run -D order="$order" "$@" --replay-dir "" \
		--trace "$traces-mock.trace" --json "$traces-mock.json" $ran >"$work.log" ||
		{ cat "$work.log"; exit 1; }
	# shellcheck disable=SC2086
	lua5.4 tests/hw/compare_traces.lua "$work/srdlab" scripts/spec "$traces-mock" "$traces-device" $options
	rm -f "$traces"-*
}
cd "$top"
old="" apart=""
# not NAME: one more filter for this name.
not() {
	echo " --filter '!$1'"
}
if [ "$version" = 56.1 ]; then
	# Without rdma-core's change 1616 nothing shows of a queue that no queue pair uses any more.
	old=$old$(not 'on SRD: stay in the queue')
	old=$old$(not 'a queue is handed on with flushes in it')
	old=$old$(not 'the loop that drains stops at the first entry of a destroyed queue pair')
	old=$old$(not 'the loop skips what is nobody')
	old=$old$(not 'a queue pair destroyed inside a poll')
	# Without 1731 what is left of a queue pair is taken for that of the next of its number.
	old=$old$(not 'completions of a dead queue pair are not given')
	# It knows no 64-bit request ids: it reads beside its table of slots for those of nobody.
	old=$old$(not 'ids have 64 bits')
	# It takes status 18 for a general error, and the mock does as later ones do.
	old=$old$(not 'one that only one side knows of fails')
	apart=$apart$(not 'REMOTE_ERROR_FEATURE_MISMATCH')
	# It makes no queue for one thread, and no entries of 128 bytes.
	old=$old$(not 'a queue for one thread')
	old=$old$(not 'a wide entry holds 80 bytes')
	# The mock is as it is with the change 1616: the rest of such a queue can be polled.
	apart=$apart$(not 'a failed poll ends the scheduler')
fi
# The laboratory of the device: it has the profile, the hosts and the time of each scenario, and
# so nothing else is set apart.
same random 85 "--in-order --timed --prove"
# As a program has the device: one for all hosts, and every poll moves it. Rails that fail take a
# stripe whenever they have room, and those of the mock have a link each.
apart=$apart$(not 'a rail that dies hands its stripes')$(not 'a stripe that fails for a cause of its own')
# Which messages are under way together depends on the links, one here and one a host there.
apart=$apart$(not 'puts and gets of any size over')$(not 'transfers do not overtake each other')
same in_order 55 "--in-order --prove" --order in_order --decisions "$work/decisions.json"
rm -f "$work/decisions.json"
