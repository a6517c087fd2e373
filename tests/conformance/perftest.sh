#!/bin/sh
# Two processes of perftest on the software device.
# usage: perftest.sh SRDLAB TOOL [ARGUMENT]...     exit 77: the tool is not here
set -eu
srdlab=$1 tool=$2
shift 2
command -v "$tool" >/dev/null || {
	echo "$tool is not installed (perftest)"
	exit 77
}
# shellcheck disable=SC2016
exec "$srdlab" exec -- sh -c '
	tool=$1
	shift
	port=$((20000 + $$ % 20000))
	"$tool" -p $port -x 0 "$@" >server.$$ 2>&1 &
	server=$!
	# The client finds the server once it listens.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.2
		"$tool" -p $port -x 0 "$@" 127.0.0.1 >client.$$ 2>&1 && break
		grep -q "connect" client.$$ || break
	done
	result=$?
	wait $server || result=$?
	cat client.$$
	[ $result = 0 ] || cat server.$$
	grep -q "BW average\|t_typical" client.$$ || result=1
	rm -f client.$$ server.$$
	exit $result' sh "$tool" "$@"
