#!/bin/sh
# Scenarios through rdma-core VERSION's libraries on the device's laboratory: nothing fails, and
# what is skipped has one of the reasons that are known. (tests/hw/rdma_core.sh runs all of them,
# by a srdlab of that version, and compares traces.)
# usage: scenarios.sh SRDLAB VERSION SCENARIOS...      exit 77: that rdma-core is not to be had
set -eu
srdlab=$1 version=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
shift 2
folder=$("$top/scripts/rdma-core.sh" "$version")
export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cd "$top"
out=$("$srdlab" exec --clock called -- "$srdlab" run --backend efa --replay-dir "" "$@") || {
	echo "$out"
	exit 1
}
echo "$out" | tail -n 1
# Orders are those of messages, whatever level the device was given.
orders() {
	grep '^every order: '
}
[ "$("$srdlab" run scripts/scenarios/orders.lua | orders)" = "$("$srdlab" exec --clock called -D level=packet -- \
	"$srdlab" run --backend efa --replay-dir "" scripts/scenarios/orders.lua | orders)" ] || {
	echo "other orders of scripts/scenarios/orders.lua than on the mock"
	exit 1
}
unknown=$(echo "$out" | grep '^skipped ' | grep -vE 'needs "(origin|model)"|profile .*: the software device has no |the EFA device efa_0 cannot be used: of RDMA read and write|needs a larger device') || exit 0
echo "$unknown"
exit 1
