#!/bin/sh
# Programs whose libibverbs and libefa, those of rdma-core VERSION, are linked statically: on the
# device they do what they do with shared ones.
# usage: static.sh SRDLAB VERSION FOLDER PROGRAM...     FOLDER/PROGRAM.c; exit 77: not to be had
set -eu
srdlab=$1 version=$2 folder=$3
shift 3
libraries=$("$(dirname "$0")/../../scripts/rdma-core.sh" "$version") # exit 77 with the reason
archives="lib/statics/libibverbs.a lib/statics/libefa.a util/librdma_util.a ccan/libccan.a"
# shellcheck disable=SC2086
ninja -C "$libraries" $archives >static.log 2>&1 || {
	cat static.log
	exit 1
}
for program; do
	# shellcheck disable=SC2046,SC2086
	"${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -DRDMA_STATIC_PROVIDERS=efa -I"$libraries/include" \
		-o "static_$program" "$folder/$program.c" -pthread \
		-Wl,--start-group $(printf "$libraries/%s " $archives) -Wl,--end-group -lnl-route-3 -lnl-3
	if ldd "static_$program" | grep -q 'ibverbs\|efa'; then
		echo "$program is linked to a shared library"
		exit 1
	fi
	for option in --doorbell=auto --doorbell=trapped; do
		echo "$program $option"
		"$srdlab" exec "$option" -- "./static_$program"
	done
	rm "static_$program"
done
