#!/bin/sh
# The timeline of the suite, and of runs that fail in every way, by the rules of its format.
# usage: timeline.sh SRDLAB CHROME_TRACE FILE|FOLDER...
set -eu
srdlab=$1
check=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "timeline.sh: $*" >&2
	exit 1
}

# The checker finds each of these.
E='"pid":1,"tid":1'
while read -r entries; do
	echo "{\"traceEvents\":[$entries]}" >"$dir/bad.json"
	status=0
	"$check" "$dir/bad.json" >"$dir/out" || status=$?
	[ "$status" = 1 ] || fail "status $status for $entries: $(cat "$dir/out")"
done <<END
{"ph":"i","name":"x","ts":1,"pid":1,"s":"p"}
{"ph":"i","name":"x","ts":-1,$E,"s":"p"}
{"ph":"i","name":"x","ts":1,$E,"s":"q"}
{"ph":"i","name":"x","ts":1,$E,"s":"p","dur":3}
{"ph":"B","name":"x","ts":1,$E}
{"ph":"E","name":"x","ts":1,$E}
{"ph":"B","name":"x","ts":2,$E},{"ph":"E","name":"x","ts":1,$E}
{"ph":"B","name":"x","ts":1,$E},{"ph":"E","name":"y","ts":1,$E}
{"ph":"X","name":"x","ts":1,$E}
{"ph":"C","name":"x","ts":1,$E,"args":{"n":"1"}}
{"ph":"M","name":"process_name","ts":1,$E,"args":{}}
{"ph":"b","name":"x","ts":1,$E,"cat":"c","id":"1"}
{"ph":"e","name":"x","ts":1,$E,"cat":"c","id":"1"}
{"ph":"b","name":"x","ts":2,$E,"cat":"c","id":"1"},{"ph":"e","name":"x","ts":1,$E,"cat":"c","id":"1"}
{"ph":"b","name":"x","ts":1,$E,"cat":"c","id":"1"},{"ph":"e","name":"y","ts":1,$E,"cat":"c","id":"1"}
{"ph":"s","name":"x","ts":1,$E,"cat":"c","id":"1"}
{"ph":"X","name":"x","ts":1,"dur":1,$E},{"ph":"f","name":"x","ts":1,$E,"cat":"c","id":"1","bp":"e"}
{"ph":"Q","name":"x","ts":1,$E}
END

"$srdlab" run --replay-dir '' --timeline "$dir/t.json" "$@" >"$dir/out" || true
tail -n 1 "$dir/out" | grep -q '^[1-9][0-9]* passed' || fail "nothing ran: $(cat "$dir/out")"
"$check" "$dir/t.json" >"$dir/out" || fail "$(cat "$dir/out")"
# Each kind of entry was there.
for phase in B C E M X b e f i s; do
	grep -q "^$phase [1-9]" "$dir/out" || fail "no entry of phase $phase: $(cat "$dir/out")"
done
