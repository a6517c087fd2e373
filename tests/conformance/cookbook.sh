#!/bin/sh
# The recipes of docs/cookbook.md for a program under srdlab exec, as they stand there.
# usage: cookbook.sh SRDLAB STEERED LOOPBACK PAGE INCLUDE...
set -u
srdlab=$1 steered=$2 loopback=$3 page=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

# block WHAT: the text between ```WHAT and ```
block() {
	awk -v begin="\`\`\`$1" '$0 == begin { on = 1; next } $0 == "```" { on = 0 } on' "$page"
}

# run OPTION... -- PROGRAM...: its output in one line, and the status
run() {
	timeout 60 "$srdlab" exec "$@" 2>"$folder/error" >"$folder/output"
	echo "$? $(tr '\n' ',' <"$folder/output")"
}

for name in dies storm late; do
	block "lua exec $name" >"$folder/$name.lua"
	"$srdlab" check "$folder/$name.lua" >"$folder/output"
	want "check of $name.lua" "0 1 file, 0 scenarios, 0 problems" "$? $(cat "$folder/output")"
done
want "a peer that dies" "0 1 0,2 0,4 0,3 13," "$(run --clock called --order in_order --devices 2 \
	--script "$folder/dies.lua" -- "$steered" across 4)"
want "a storm" "0 1 0,2 0,3 0,4 0,5 0,6 0,7 0,8 0," \
	"$(run --clock called --script "$folder/storm.lua" -- "$steered" sends 8)"
want "what it cost" "found no receive so far	0,found no receive so far	8," "$(tr '\n' ',' <"$folder/error")"
sed 's/300ms/1000s/' "$folder/late.lua" >"$folder/later.lua" # on a busy machine, too
want "patience that ends" "0 1 0,1 missing," "$(run --script "$folder/later.lua" -- "$steered" reads 2)"
want "and patience" "0 1 0,2 0," "$(run --script "$folder/late.lua" -- "$steered" reads 2 1000000000)"
want "what is said of it" "released	true," "$(tr '\n' ',' <"$folder/error")"
first=$(run --order adversarial --seed 7 --decisions "$folder/run.json" -- "$steered" reads 8)
"$srdlab" replay "$folder/run.json" >"$folder/output"
want "the same order again" "$first" "$? $(tr '\n' ',' <"$folder/output")"
judge() {
	run --rules law --error-exitcode 33 --script "$folder/storm.lua" --clock called --seed 1 -- "$@"
}
want "a good program in CI" "0 4096 bytes arrived," "$(judge "$loopback")"
want "one that leaves things behind" "33 1 0," "$(judge "$steered" reads 1)"
want "one without a device" "77 " "$(judge true)"
{
	echo '#include <srdlab/annotate.h>'
	echo 'enum { SKIPPED = 77 };'
	echo 'int test(struct ibv_qp *qp);'
	echo 'int test(struct ibv_qp *qp)'
	echo '{'
	block c | grep -v '#include'
	echo '	return 0;'
	echo '}'
} >"$folder/test.c"
cc -fsyntax-only -Wall -Wextra -Werror "$@" "$folder/test.c"
want "the test in C" 0 $?
exit $((failures > 0))
