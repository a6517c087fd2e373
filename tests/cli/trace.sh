#!/bin/sh
# srdlab run --trace and --timeline, and srdlab show: one run, seen from all sides.
# usage: trace.sh SRDLAB FOLDER-OF-KEPT-TRACES
set -eu
srdlab=$1
kept=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "trace.sh: $*" >&2
	exit 1
}

# Runs the rest of its arguments, which have to end with STATUS, into $dir/out and $dir/err.
ends() {
	wanted=$1
	shift
	status=0
	"$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" = "$wanted" ] || fail "$*: exit status $status, not $wanted: $(cat "$dir/err")"
}

shows() {
	grep -q -- "$1" "$dir/out" || fail "no line \"$1\" in: $(cat "$dir/out")"
}

complains() {
	grep -q -- "$1" "$dir/err" || fail "no line \"$1\" in: $(cat "$dir/err")"
}

cat >"$dir/put.lua" <<'LUA'
local srd = require "srdlab"

srd.scenario("a put in three requests", { limits = { max_rdma_size = 1000 } }, function(t)
	local p = t:pair { max_send_wr = 4, memory = 2500 }
	t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
end)
LUA

ends 0 "$srdlab" run --seed 7 --trace "$dir/t" --timeline "$dir/t.json" "$dir/put.lua"
ends 0 "$srdlab" show "$dir/t"
shows "^trace of srdlab .*put.lua, backend mock, profile efa1, seed 7$"
shows " op_begin .* local_size=2500 "
shows "^ops         1 begun, 1 ended, 0 of them failed$"
shows "^requests    3 posted of 2500 bytes, 0 without a completion, 0 refused$"
shows "^completions 3 IBV_WC_SUCCESS$"
ends 0 "$srdlab" show --qp 1 --event wr_post --no-summary "$dir/t"
[ "$(grep -c "wr_post" "$dir/out")" = 3 ] || fail "not three requests: $(cat "$dir/out")"
grep -q '"ph":"b","name":"RDMA_WRITE"' "$dir/t.json" || fail "no request in the timeline"

# The hash that a report shows is the one at the end of the file.
ends 0 "$srdlab" run --verbose --seed 7 "$dir/put.lua"
shows "$(tail -c 8 "$dir/t" | od -A n -t x8 | tr -d ' ')"

# The same run gives the same bytes.
ends 0 "$srdlab" run --seed 7 --trace "$dir/again" "$dir/put.lua"
cmp "$dir/t" "$dir/again" || fail "two runs, two traces"

# Traces of another srdlab, and of streams by hand.
ends 0 "$srdlab" show "$kept/life.trace"
shows "^requests    3 posted of 300 bytes, 1 without a completion, 0 refused$"
shows "^events .*, and 1 of types that this srdlab does not know$"
ends 0 "$srdlab" show "$kept/refused.trace"
shows "^       - .* 0 "
ends 2 "$srdlab" show "$kept/unfinished.trace"
complains "the trace has no trailer: the run did not end, or it was cut short"
ends 2 "$srdlab" show "$kept/future_version.trace"
complains "the trace has version 2, this srdlab reads version 1"

# Mistakes: each with one clear message.
ends 2 "$srdlab" show "$dir/none"
complains "cannot read the trace .*/none: No such file or directory"
ends 2 "$srdlab" show "$dir/put.lua"
complains "put.lua: offset 0: this is not a trace of srdlab"
head -c 40000 "$dir/t" >"$dir/cut" && truncate -s -30 "$dir/cut"
ends 2 "$srdlab" show "$dir/cut"
complains "/cut: offset [0-9]*: "
ends 2 "$srdlab" show --event wr_past "$dir/t"
complains "there is no event wr_past: did you mean wr_post?"
ends 2 "$srdlab" show --qp zero "$dir/t"
complains "not \"zero\""
ends 2 "$srdlab" run --trace "$dir/none/t" "$dir/put.lua"
complains "cannot write the trace .*: No such file or directory"
ends 2 "$srdlab" run --trace "$dir/x" --timeline "$dir/x" "$dir/put.lua"
complains "--trace and --timeline cannot both go to"
ends 99 "$srdlab" run --timeline /dev/full "$dir/put.lua"
complains "cannot write the timeline /dev/full: No space left on device"
