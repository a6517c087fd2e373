#!/bin/sh
# libfabric's fi_pingpong over its efa provider on the software device, its shared-memory
# path off; the device's own counters prove that it was the device that moved the bytes.
# usage: pingpong.sh SRDLAB SIZE...      exit 77: it is not here
set -eu
srdlab=$1
shift
command -v fi_pingpong >/dev/null || {
	echo "fi_pingpong is not installed (libfabric-bin)"
	exit 77
}
export FI_EFA_ENABLE_SHM_TRANSFER=0
"$srdlab" exec -- fi_info -p efa | grep -q 'domain: efa_0-rdm'
# shellcheck disable=SC2016
exec "$srdlab" exec -- sh -c '
	counter() {
		cat "$SYSFS_PATH/class/infiniband/efa_0/ports/1/hw_counters/$1"
	}
	moved() {
		echo $(($(counter send_wrs) + $(counter rdma_read_wrs)))
	}
	result=0
	for size; do
		before=$(moved)
		fi_pingpong -p efa -e rdm -I 20 -S $size >server.$$ 2>&1 &
		server=$!
		for try in 1 2 3 4 5 6 7 8 9 10; do
			sleep 0.2
			fi_pingpong -p efa -e rdm -I 20 -S $size 127.0.0.1 >client.$$ 2>&1 && break
		done
		result=$?
		wait $server || result=$?
		tail -n 1 client.$$
		[ $result = 0 ] || { cat client.$$ server.$$; break; }
		echo "size $size: sends or reads of the device $(($(moved) - before))"
	done
	rm -f client.$$ server.$$
	exit $result' sh "$@"
