#!/bin/sh
# Laws say nothing of a correct program with threads, and the trace tells of each request before
# its completion.
# usage: posters.sh SRDLAB DOORBELL POSTERS
set -u
srdlab=$1 doorbell=$2 program=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

for part in 1 2 3; do
	"$srdlab" exec --doorbell "$doorbell" --rules law -- "$program" >"$folder/out" 2>&1
	want "its status ($part)" 0 $?
	want "violations ($part)" "srdlab: 0 violations" "$(tail -n 1 "$folder/out")"
done
"$srdlab" exec --doorbell "$doorbell" --rules law --trace "$folder/trace" -- "$program" >"$folder/out" 2>&1
want "violations with a trace" "srdlab: 0 violations" "$(tail -n 1 "$folder/out")"
"$srdlab" show "$folder/trace" >"$folder/text"
want "requests, with those given up, and completions" "3717 3717" "$(grep -c ' wr_post ' "$folder/text") $(
	grep -c ' wc ' "$folder/text")"
want "completions before their post" 0 "$(sed -n 's/.* \(wr_post\|recv_post\|wc\)  *wr_id=\([0-9]*\) .*/\1 \2/p' \
	"$folder/text" | awk '$1 == "wc" && !seen[$2] { early++ } { seen[$2] = 1 } END { print early + 0 }')"
exit $((failures > 0))
