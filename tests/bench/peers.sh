#!/bin/sh
# libfabric's RMA writes over its tcp and shm providers between two processes, of the sizes and
# windows of device.c, and how many times as fast the device was: medians of five. The rates of
# device.c are of processor time, these of time that passed: alike on a quiet machine only.
# usage: peers.sh FIGURES      of device.c, of the same run; exit 77: it is not to be had
set -eu
figures=$1
folder=$("$(dirname "$0")/../../scripts/libfabric.sh" 2.1.0) # exit 77 with the reason
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Column COLUMN of the last line that TOOL prints.
once() {
	column=$1 tool=$2
	shift 2
	timeout 60 "$folder/$tool" "$@" >/dev/null 2>&1 &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.2
		timeout 60 "$folder/$tool" "$@" 127.0.0.1 >"$out" 2>/dev/null && break
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
# line that has the number; a unit of time is better where it is less.
peer() {
	name=$1 ours=$2 word=$3 column=$4 unit=$5
	shift 5
	theirs=$(median "$column" "$@")
	awk -v name="$name" -v ours="$ours" -v word="$word" -v theirs="$theirs" -v unit="$unit" '
		index($0, ours) == 1 { split(substr($0, length(ours) + 1), w, " "); mine = w[word] }
		END {
			if (unit == "GB/s") theirs /= 1e3
			printf "%-52s %8.3f %s", name, theirs, unit
			ratio = unit == "us half way" ? theirs / mine : mine / theirs
			if (mine > 0 && theirs > 0) printf ", the device %.1f times as fast", ratio
			printf "\n"
		}' "$figures"
}

echo "libfabric's rates are of time that passed: to be set beside the device's on a quiet machine"
for provider in tcp shm; do
	set -- -p $provider -E -o write
	peer "libfabric $provider: RMA write, 64 B, window 64" "two processes, 64 B, window 64, a doorbell each" \
		1 7 "M/s" fi_rma_bw "$@" -S 64 -W 64 -I 20000
	peer "libfabric $provider: RMA write, 1 MiB, window 4" "two processes, 1 MiB, window 4" \
		5 5 "GB/s" fi_rma_bw "$@" -S 1048576 -W 4 -I 400
	peer "libfabric $provider: RMA write ping-pong, 64 B" "two processes, RDMA write ping-pong, 64 B" \
		1 6 "us half way" fi_rma_pingpong "$@" -S 64 -I 5000
done
