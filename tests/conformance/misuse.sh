#!/bin/sh
# A program that breaks these rules and no other law: each is flagged, and nothing else is.
# usage: misuse.sh SRDLAB PROGRAM RULE...
set -u
srdlab=$1
program=$2
shift 2
rules=law
for rule in "$@"; do
	rules=$rules,$rule
done
out=$("$srdlab" exec --devices 2 --rules "$rules" --error-exitcode 99 -- "$program" 2>&1)
status=$?
flagged=$(echo "$out" | sed -n 's/^srdlab: [a-z]* \([a-z]*\.[a-z_]*\):.*/\1/p' | sort -u)
want=$(printf '%s\n' "$@" | sort -u)
if [ "$flagged" != "$want" ] || [ $status != 99 ]; then
	echo "flagged with status $status: $(echo "$flagged" | tr '\n' ' ')"
	echo "instead of: $(echo "$want" | tr '\n' ' ')"
	echo "$out"
	exit 1
fi
