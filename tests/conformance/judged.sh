#!/bin/sh
# shellcheck disable=SC2016
# What srdlab exec makes of a program that breaks a law: statuses, files, suppressions.
# usage: judged.sh SRDLAB DEREG_IN_FLIGHT WAITS FLOOD OP_WHOLE FORKED_IN_SESSION
set -u
srdlab=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

status() {
	"$srdlab" exec "$@" >/dev/null 2>&1
	echo $?
}

want "the program's own status" 3 "$(status --rules law -- sh -c '"$0"; exit 3' "$program")"
want "a signal" 137 "$(status --rules law --error-exitcode 9 -- sh -c 'kill -9 $$')"
want "that of a violation" 9 "$(status --rules law --error-exitcode 9 -- sh -c '"$0"; exit 3' "$program")"
want "of other rules" 0 "$(status --rules chunk --error-exitcode 9 -- "$program")"
want "no such rule" 2 "$(status --rules nonsense -- "$program")"
want "no such suppressions" 2 "$(status --rules law --suppressions /no/such -- "$program")"
want "suppressions of nothing" 2 "$(status --suppressions /dev/null -- "$program")"
want "a status of nothing" 2 "$(status --error-exitcode 9 -- "$program")"
want "a trace that cannot be" 2 "$(status --trace /no/such/file -- "$program")"
want "laws of what never ran" 0 "$("$srdlab" exec --rules law --trace /dev/full -- "$program" 2>&1 | grep -c violations)"

echo 'memory.dereg # known' >"$folder/known"
want "what is suppressed" 0 "$(status --rules law --suppressions "$folder/known" --error-exitcode 9 -- "$program")"
echo 'memory.rkey # never comes' >"$folder/other"
want "a trace over what is read" 2 "$(status --rules law --suppressions "$folder/other" --trace "$folder/other" -- "$program")"
want "a suppression of nothing" 1 "$("$srdlab" exec --rules law --suppressions "$folder/other" -- "$program" 2>&1 |
	grep -c 'nothing needed')"

out=$("$srdlab" exec --rules law --trace "$folder/trace" --timeline "$folder/timeline" -- "$program" 2>&1)
want "the rule" 1 "$(echo "$out" | grep -c '^srdlab: law memory.dereg')"
want "the summary" 1 "$(echo "$out" | grep -c '^srdlab: 1 violations$')"
if command -v addr2line >/dev/null; then
	want "its stack, and that of the post" 2 "$(echo "$out" | grep -c ' main at dereg_in_flight.c:')"
fi
want "events of the trace" 1 "$("$srdlab" show "$folder/trace" | grep -c ' mr_dereg ')"
want "the timeline" 1 "$(grep -c '"mr_dereg\|"traceEvents\|^\[' "$folder/timeline" | head -c 1)"
"$srdlab" rules "$folder/trace" 2>"$folder/again"
want "the trace, judged" 1 $?
want "by the same rule" 1 "$(grep -c '^srdlab: law memory.dereg' "$folder/again")"
"$srdlab" rules --rules chunk "$folder/trace" 2>/dev/null
want "the trace, judged by others" 0 $?
"$srdlab" rules "$folder/known" 2>/dev/null
want "no trace" 2 $?

"$srdlab" exec --group "j$$" -- sh -c 'env -u LD_PRELOAD "$0" exec --group "$1" --rules law -- true' \
	"$srdlab" "j$$" 2>"$folder/late"
want "rules in the middle of a group" 2 $?
want "and why" 1 "$(grep -c 'only the first program' "$folder/late")"

# A process that is killed leaves nothing that it could have destroyed.
want "no leak of the dead" 0 "$(status --rules lifetime --error-exitcode 9 -- sh -c '
	"$0" & sleep 1; kill -9 $!; wait' "$3")"

# That a session began is told with its end: by its own process.
want "a session over a fork" 0 "$(status --rules session --error-exitcode 9 -- "$6")"

# What a program marks as its own op is judged as ours are.
out=$("$srdlab" exec --rules law,contract --error-exitcode 9 -- "$5" 2>&1)
want "a marked op" 0 $?
want "judged by the rules about chunks" 0 "$(echo "$out" | grep -c 'not judged.* chunk.cover')"
"$5"
want "without a device" 3 $?

# A reader that stops: the program waits for it, and nothing is lost.
want "a reader that is behind" 0 "$(status --rules law --error-exitcode 9 --trace "$folder/flood" -- "$4" stop)"
want "events of all" 1 "$("$srdlab" show --summary "$folder/flood" | grep -c '^requests *40000 posted .* 0 without a completion')"
exit $((failures > 0))
