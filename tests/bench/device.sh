#!/bin/sh
# The software device's figures: what a program is slowed down by at its start, and what
# device.c measures under it, with an rdma-core that has RDMA writes where one can be had; and
# libfabric's and UCX's figures of the same.
# usage: device.sh SRDLAB PROGRAM [OPTION OF EXEC]...
set -eu
srdlab=$1 program=$2
shift 2
top=$(cd "$(dirname "$0")/../.." && pwd)

if folder=$("$top/scripts/rdma-core.sh" 56.1); then
	export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

# Milliseconds of the median of eleven runs.
start_up() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		before=$(date +%s%N)
		"$@" >/dev/null
		echo $((($(date +%s%N) - before) / 10000))
	done | sort -n | sed -n '6s/\(..\)$/.\1/p'
}
printf '%-52s %8s ms\n' "bare: start of true" "$(start_up true)" \
	"start of true under exec" "$(start_up "$srdlab" exec "$@" -- true)"
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
"$srdlab" exec "$@" -- "$program" >"$figures" || {
	cat "$figures"
	exit 1
}
cat "$figures"
# Beside it what people would use without a device, where that is to be had.
sh "$top/tests/bench/peers.sh" "$figures"
