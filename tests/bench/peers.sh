#!/bin/sh
# What others reach between two processes without a device, of the sizes and windows of
# device.c: libfabric's RMA writes over its tcp and shm providers, UCX's puts over tcp and
# posix shared memory; and beside it the device. Medians of five. The rates of device.c are of
# processor time, these of time that passed: alike on a quiet machine only. UCX's puts over
# posix are the processor's own stores, without a queue or a completion: a limit to approach.
# usage: peers.sh FIGURES      of device.c, of the same run
# What is not to be had is left out, with the reason.
set -eu
figures=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Column COLUMN of the last line that a tool prints; CLIENT: its arguments besides.
once() {
	column=$1 client=$2
	shift 2
	timeout 60 "$@" >/dev/null 2>&1 &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.2
		timeout 60 "$@" "$client" >"$out" 2>/dev/null && break
	done
	wait $server
	awk -v c="$column" 'END { print $c }' "$out"
}

median() {
	for _ in 1 2 3 4 5; do
		once "$@"
	done | sort -n | sed -n 3p
}

# peer NAME OURS COLUMN SCALE UNIT TOOL...     OURS: what device.c calls it, and the word of its
# line that has the number; SCALE of theirs to UNIT; a unit of time is better where it is less.
peer() {
	name=$1 ours=$2 word=$3 column=$4 scale=$5 unit=$6
	shift 6
	theirs=$(median "$column" 127.0.0.1 "$@")
	awk -v name="$name" -v ours="$ours" -v word="$word" -v theirs="$theirs" -v scale="$scale" -v unit="$unit" '
		index($0, ours) == 1 { split(substr($0, length(ours) + 1), w, " "); mine = w[word] }
		END {
			theirs *= scale
			printf "%-52s %8.3f %s", name, theirs, unit
			if (mine <= 0 || theirs <= 0) {
				printf "\n"
				exit
			}
			ratio = unit ~ /^us/ ? theirs / mine : mine / theirs
			if (name ~ /posix/)
				printf ", the device %.0f %% of this limit\n", 100 * ratio
			else
				printf ", the device %.1f times as fast\n", ratio
		}' "$figures"
}

rate="two processes, 64 B, window 64, a doorbell each"
large="two processes, 1 MiB, window 4"
hop="two processes, RDMA write ping-pong, 64 B"

echo "the rates of others are of time that passed: to be set beside the device's on a quiet machine"
if folder=$("$(dirname "$0")/../../scripts/libfabric.sh" 2.1.0); then
	for provider in tcp shm; do
		set -- -p $provider -E -o write
		peer "libfabric $provider: RMA write, 64 B, window 64" "$rate" \
			1 7 1 "M/s" "$folder/fi_rma_bw" "$@" -S 64 -W 64 -I 20000
		peer "libfabric $provider: RMA write, 1 MiB, window 4" "$large" \
			5 5 1e-3 "GB/s" "$folder/fi_rma_bw" "$@" -S 1048576 -W 4 -I 400
		peer "libfabric $provider: RMA write ping-pong, 64 B" "$hop" \
			1 6 1 "us half way" "$folder/fi_rma_pingpong" "$@" -S 64 -I 5000
	done
fi
if command -v ucx_perftest >/dev/null; then
	export UCX_LOG_LEVEL=error
	for transport in tcp posix; do
		export UCX_TLS=$transport
		set -- ucx_perftest -f -p $((20000 + $$ % 20000))
		peer "UCX $transport: put, 64 B, window 64" "$rate" \
			1 8 1e-6 "M/s" "$@" -t ucp_put_bw -s 64 -O 64 -n 100000
		peer "UCX $transport: put, 1 MiB, window 4" "$large" \
			5 6 1.048576e-3 "GB/s" "$@" -t ucp_put_bw -s 1048576 -O 4 -n 400 -w 20
		peer "UCX $transport: put ping-pong, 64 B" "$hop" \
			1 2 1 "us half way" "$@" -t ucp_put_lat -s 64 -n 5000
	done
else
	echo "UCX is left out: no ucx_perftest (Debian's ucx-utils)"
fi
