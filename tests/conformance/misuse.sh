#!/bin/sh
# A program that breaks these laws and no others; without a --error-exitcode its own status
# counts. usage: misuse.sh SRDLAB PROGRAM RULE...
set -u
srdlab=$1
program=$2
shift 2
out=$("$srdlab" exec --rules law --error-exitcode 99 -- "$program" 2>&1)
status=$?
flagged=$(echo "$out" | sed -n 's/^srdlab: law \([^:]*\):.*/\1/p' | sort -u)
want=$(printf '%s\n' "$@" | sort -u)
if [ "$flagged" != "$want" ] || [ $status != 99 ]; then
	echo "flagged with status $status: $(echo "$flagged" | tr "\n" " ")"
	echo "instead of: $(echo "$want" | tr "\n" " ")"
	echo "$out"
	exit 1
fi
