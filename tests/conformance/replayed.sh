#!/bin/sh
# shellcheck disable=SC2016
# srdlab exec --decisions and srdlab replay: the same program finds the same completions at the
# same calls; where it does something else, that is said; bad logs are refused.
# usage: replayed.sh SRDLAB STEERED ANNOTATED
set -u
srdlab=$1 steered=$2 annotated=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/log.json
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

# same OPTION... -- PROGRAM...: recorded, and replayed twice
same() {
	timeout 60 "$srdlab" exec --decisions "$log" "$@" >"$folder/out" 2>"$folder/err"
	want "the status of $*" 0 $?
	for time in 1 2; do
		timeout 60 "$srdlab" replay "$log" >"$folder/again" 2>"$folder/errors"
		want "the status of replay $time of $*" 0 $?
		cmp "$folder/out" "$folder/again" || want "the output of replay $time of $*" same other
		want "what replay $time of $* says" "$(cat "$folder/err")" "$(cat "$folder/errors")"
	done
}

same -- "$steered" naps 60
same --order adversarial --seed 7 -- "$steered" batches 60
same --doorbell trapped -- "$steered" naps 60
# The log of a program that was observed is for one that is not, too.
timeout 60 "$srdlab" exec --rules law --decisions "$log" --doorbell trapped -- "$steered" naps 60 >"$folder/out" 2>&1
timeout 60 "$srdlab" replay "$log" >"$folder/again" 2>&1
want "a replay that nobody observes" "0 0" "$? $(grep -c 'leaves its log' "$folder/again")"
same -D level=packet -D loss=20000 -- "$steered" naps 40
same --clock called -- "$steered" naps 40
same -- "$steered" peers 3
same --clock called -- "$annotated"
cat >"$folder/script.lua" <<'END'
local srd = require "srdlab"
srd.on_request(function(r)
	if r.number % 3 == 0 then
		r:delay(math.random(1000, 100000))
	elseif r.number == 4 then
		r:hold()
		srd.after("2ms", function()
			r:release()
		end)
	end
end)
END
same --script "$folder/script.lua" -- "$steered" naps 40
# It holds the script.
rm "$folder/script.lua"
"$srdlab" replay "$log" >"$folder/again"
want "the status without the script" 0 $?
cmp "$folder/out" "$folder/again" || want "the output without the script" same other
# Written anew by another program, it is the same.
lua5.4 -e 'local t = io.read "a"; io.write((t:gsub("^{", "{ "):gsub("\":", "\" : ")))' <"$log" >"$folder/spaced"
"$srdlab" replay --verbose "$folder/spaced" >/dev/null 2>"$folder/errors"
want "the status of what was written anew" 0 $?
want "how it went" 1 "$(grep -c '^the same run: [0-9]* decisions were followed' "$folder/errors")"
"$srdlab" replay --trace "$folder/trace" "$log" >/dev/null
want "requests of the trace" 40 "$("$srdlab" show --event dev_request "$folder/trace" | grep -c ' dev_request ')"
want "a trace over the log" 2 "$("$srdlab" replay --trace "$log" "$log" 2>/dev/null; echo $?)"
"$annotated"
want "faults without a device" 3 $?
# The script of a pipe, which can be read only once; and one that the program changes.
printf 'local srd = require "srdlab"\nsrd.on_request(function(r) r:delay(100) end)\n' >"$folder/script.lua"
# shellcheck disable=SC2002
cat "$folder/script.lua" | "$srdlab" exec --script /dev/stdin --decisions "$log" -- "$steered" naps 10 >/dev/null
"$srdlab" replay "$log" >/dev/null
want "the status of a script of a pipe" 0 $?
"$srdlab" exec --script "$folder/script.lua" --decisions "$log" -- sh -c 'echo "error()" >"$1"; "$0" naps 10' \
	"$steered" "$folder/script.lua" >/dev/null
"$srdlab" replay "$log" >/dev/null
want "the status of a script that was changed" 0 $?
# Two processes: what each finds, whichever of them comes first.
two='"$0" reads 40 100000000 >"$1/a" & "$0" reads 40 100000000 >"$1/b" && wait'
timeout 60 "$srdlab" exec --decisions "$log" -- sh -c "$two" "$steered" "$folder"
cp "$folder/a" "$folder/a1"
cp "$folder/b" "$folder/b1"
timeout 60 "$srdlab" replay "$log" 2>"$folder/errors"
want "the status of two" 0 $?
want "what is said of two" "" "$(cat "$folder/errors")"
if ! cmp -s "$folder/a" "$folder/a1"; then
	mv "$folder/b" "$folder/c"
	mv "$folder/a" "$folder/b"
	mv "$folder/c" "$folder/a"
fi
cmp "$folder/a" "$folder/a1" || want "the output of one" same other
cmp "$folder/b" "$folder/b1" || want "the output of the other" same other
# Where how often a program polls in vain counts, the order is kept as far as it can be.
timeout 60 "$srdlab" exec --decisions "$log" -- sh -c '"$0" naps 20 >/dev/null & "$0" naps 20 && wait' "$steered" >"$folder/out"
timeout 120 "$srdlab" replay "$log" >"$folder/again" 2>"$folder/errors"
status=$?
want "lines, one where it left its log" "$status" "$(wc -l <"$folder/errors")"
want "a status that is known" 1 "$((status <= 1))"

# diverges COUNT LINE: the program that did 50 requests does another number
diverges() {
	STEERED_COUNT=$1 timeout 60 "$srdlab" replay "$log" >/dev/null 2>"$folder/errors"
	want "the status of $1" 1 $?
	want "what is said of $1" "srdlab replay: warning: the replay $2" \
		"$(sed 's/decision [0-9]* of [0-9]*/decision/;s/finds something in/polls/;s/ [0-9]*$//;s/pair [0-9]*,/pair,/;s/queue [0-9]*,/queue,/' "$folder/errors")"
}
"$srdlab" exec --decisions "$log" -- "$steered" naps 50 >/dev/null
diverges 20 "leaves its log at decision: then process 1 posts to queue pair, now process 1 polls completion queue"
diverges 70 "leaves its log at decision: then process 1 polls completion queue, now process 1 posts to queue pair"
diverges 0 "ends at decision: the program did less than it did then"
"$srdlab" exec --decisions "$log" -- "$steered" naps 0 >/dev/null
diverges 9 "leaves its log at decision: then the supervisor finds the end of process 1, now process 1 posts to queue pair"
"$srdlab" exec --decisions "$log" -- true
sed 's/"true"/"'"$(echo "$steered" | sed 's|/|\\/|g')"'","naps","3"/' "$log" >"$folder/other"
mv "$folder/other" "$log"
diverges 3 "leaves its log, which ends with decision 0: now process 1 opens its first device"

# bad MESSAGE SED: a log that was changed
"$srdlab" exec --decisions "$folder/good" -- true
bad() {
	sed "$2" "$folder/good" >"$log"
	want "what is said of $2" "srdlab replay: error: $log$1" "$("$srdlab" replay "$log" 2>&1)"
	"$srdlab" replay "$log" 2>/dev/null
	want "the status of $2" 2 $?
}
bad " is of format 9, this srdlab reads format 1" 's/"schema":1/"schema":9/'
bad ": schema is missing: a whole number, 0 to 2147483647 is needed" 's/"schema":1,//'
bad ': schema is "x": a whole number, 0 to 2147483647 is needed' 's/"schema":1/"schema":"x"/'
bad ": seed is missing: a whole number, 0 or more is needed" 's/"seed":1,//'
bad ": seed is -1: a whole number, 0 or more is needed" 's/"seed":1/"seed":-1/'
bad ": clock is 2: 0 to 1 is needed" 's/"clock":0/"clock":2/'
bad ": devices is 0: 1 to 64 is needed" 's/"devices":1,"clock"/"devices":0,"clock"/'
bad ': "sead" is no field of a log of decisions; did you mean seed?' 's/"seed"/"sead"/'
bad ": program is an empty list: its name is needed" 's/\["true"\]/[]/'
bad ': program is "true": a list is needed' 's/\["true"\]/"true"/'
bad ': decisions is "x": a list is needed' 's/"decisions":\[\]/"decisions":"x"/'
bad ": profile.mtu is missing" 's/"mtu":"[0-9]*",//'
bad ": program is a list of words" 's/\["true"\]/[7]/'
bad ": decisions are 5 numbers each, 32 bits at most" 's/"decisions":\[\]/"decisions":[1]/'
bad ": decisions are 5 numbers each, 32 bits at most" 's/"decisions":\[\]/"decisions":[1,1,1,1,-1]/'
bad ":1: error: unexpected token near '}'" 's/"decisions":\[\]/"decisions":[/'
bad ": profile: mtu cannot be 1: it takes a size in bytes or with a unit (B, KiB, MiB, GiB, TiB) from 256 to 65535" 's/"mtu":"[0-9]*"/"mtu":"1"/'

# What cannot be written is said before the program runs.
want "a file that cannot be" 2 "$("$srdlab" exec --decisions /no/such/file -- touch "$folder/ran" 2>/dev/null; echo $?)"
want "an argument that is not UTF-8" 2 "$("$srdlab" exec --decisions "$log" -- touch "$folder/ran" "$(printf '\377')" 2>"$folder/late"; echo $?)"
want "and why" 1 "$(grep -c 'an argument of the program is not UTF-8' "$folder/late")"
want "what ran" no "$([ -e "$folder/ran" ] && echo yes || echo no)"
want "one file for two" 2 "$("$srdlab" exec --decisions "$log" --trace "$log" -- true 2>/dev/null; echo $?)"
"$srdlab" exec --group "r$$" -- sh -c 'env -u LD_PRELOAD "$0" exec --group "$1" --decisions "$2" -- true' \
	"$srdlab" "r$$" "$log" 2>"$folder/late"
want "a log from the middle of a group" 2 $?
want "and why" 1 "$(grep -c 'only the first program' "$folder/late")"
"$srdlab" exec --group "o$$" -- sh -c 'env -u LD_PRELOAD "$0" exec --group "$1" --seed 3 -D loss=1 -- true' \
	"$srdlab" "o$$" 2>"$folder/late"
want "options of the second of a group" \
	"srdlab exec: warning: this group has begun already: -D, --seed of its first program holds, not that of this one" \
	"$(cat "$folder/late")"
exit $((failures > 0))
