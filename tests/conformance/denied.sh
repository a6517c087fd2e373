#!/bin/sh
# Processes that may not reach each other's memory: what is shared is reached, the rest is a
# status with a reason, or there is another way.
# usage: denied.sh SRDLAB PROGRAM
set -u
srdlab=$1 program=$2
case $program in
*/*) ;;
*) program=./$program ;;
esac
failures=0

# expect WHAT MEMORY OUTPUT REASON: the last a pattern, empty where there must be none.
expect() {
	out=$("$srdlab" exec --memory "$2" -- "$program" "$1" 2>err.$$)
	status=$?
	if [ $status = 77 ]; then
		echo "$1: left out: $(cat err.$$)"
		return
	fi
	if [ $status != 0 ] || [ "$out" != "$3" ] || ! grep -q "${4:-^}" err.$$ &&
		[ -n "$4" ] || [ -z "$4" ] && [ -s err.$$ ]; then
		echo "$1 $2: status $status, \"$out\" instead of \"$3\"; said: $(cat err.$$)"
		failures=$((failures + 1))
	fi
}

# 7: the target of a read says that the address is bad.
expect filter shared "shared 0, other 0" ""
expect filter copied "shared 0, other 0" ""
expect rights shared "shared 0, other 7" "does not let processes reach"
expect rights copied "shared 7, other 7" "does not let processes reach"
expect namespace shared "shared 0, other 7" "different PID namespaces"
expect namespace copied "shared 7, other 7" "different PID namespaces"
rm -f err.$$
exit $((failures > 0))
