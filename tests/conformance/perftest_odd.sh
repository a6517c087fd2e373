#!/bin/sh
# perftest where it is asked for what EFA has not, and where it is killed: it ends as on
# hardware, and so does the device.
# usage: perftest_odd.sh SRDLAB     exit 77: perftest is not here
set -u
srdlab=$1
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"
command -v ib_send_bw >/dev/null || {
	echo "ib_send_bw is not installed (perftest)"
	exit 77
}

out=$(sh "$(dirname "$0")/perftest.sh" "$srdlab" ib_send_bw -c SRD -n 100 --use-srq)
want "a shared receive queue" 1 $?
want "why there is none" yes "$(echo "$out" | grep -qi "couldn't create srq\|failed to create srq\|srq" && echo yes || echo "$out")"

# Of a pair that would go on for ever the server is killed: the client's reads fail, and it ends.
# shellcheck disable=SC2016
out=$("$srdlab" exec -- sh -c '
	port=$((20000 + $$ % 20000))
	folder=$SYSFS_PATH/class/infiniband/efa_0/ports/1/hw_counters
	ib_read_bw -c SRD -x 0 -p $port --run_infinitely >/dev/null 2>&1 &
	server=$!
	sleep 0.3
	ib_read_bw -c SRD -x 0 -p $port --run_infinitely 127.0.0.1 >/dev/null 2>&1 &
	client=$!
	while [ "$(cat "$folder/rdma_read_wrs")" -lt 1000 ]; do
		sleep 0.1
		kill -0 $client 2>/dev/null || exit 5
	done
	kill -9 $server
	wait $client
	echo "the client: $?"
	exec ibv_devinfo -d efa_0 | grep -c hca_id') || want "the rest" 0 $?
want "the server is killed" "the client: 1
1" "$out"
exit $((failures > 0))
