#!/bin/sh
# The software device's figures: how long programs take that do nothing, and what
# device.c measures under it, without rules and with every law, with an rdma-core that has RDMA
# writes where one can be had; and libfabric's and UCX's figures of the same.
# usage: device.sh SRDLAB PROGRAM [OPTION OF EXEC]...
set -eu
srdlab=$1 program=$2
shift 2
top=$(cd "$(dirname "$0")/../.." && pwd)

devinfo=ibv_devinfo
if folder=$("$top/scripts/rdma-core.sh" 56.1); then
	export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	devinfo=$folder/bin/ibv_devinfo
fi

# Milliseconds of the median of eleven runs.
start_up() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		before=$(date +%s%N)
		"$@" >/dev/null 2>&1 || [ "$1" = "$devinfo" ] # finds nothing without a device
		echo $((($(date +%s%N) - before) / 10000))
	done | sort -n | sed -n '6s/\(..\)$/.\1/p'
}
printf '%-52s %8s ms\n' "bare: true" "$(start_up true)" \
	"true under exec" "$(start_up "$srdlab" exec "$@" -- true)" \
	"bare: ibv_devinfo, which finds nothing" "$(start_up "$devinfo")" \
	"ibv_devinfo under exec" "$(start_up "$srdlab" exec "$@" -- "$devinfo")" \
	"ibv_devinfo under exec --rules law" \
	"$(start_up "$srdlab" exec "$@" --rules law -- "$devinfo")"
"$program" trap
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
"$srdlab" exec "$@" -- "$program" >"$figures" || {
	cat "$figures"
	exit 1
}
cat "$figures"
"$srdlab" exec --rules law "$@" -- "$program" law
# Beside it what people would use without a device, where that is to be had.
sh "$top/tests/bench/peers.sh" "$figures"
