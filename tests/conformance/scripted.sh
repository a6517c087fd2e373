#!/bin/sh
# shellcheck disable=SC2016
# srdlab exec --script: what functions of a script make of a program, and what is said of bad ones.
# usage: scripted.sh SRDLAB STEERED
set -u
srdlab=$1 steered=$2
page=$(dirname "$0")/../../docs/device.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

# under OPTION... -- ARGUMENT...: the output of the program under the script on standard input,
# in one line, and the status
under() {
	{
		echo 'local srd = require "srdlab"'
		cat
	} >"$folder/script.lua"
	timeout 60 "$srdlab" exec --script "$folder/script.lua" "$@" 2>"$folder/error" >"$folder/output"
	echo "$? $(tr '\n' ',' <"$folder/output")"
}

errors() {
	sed "s|^$folder/script.lua:\([0-9]*\): error: |\1: |" "$folder/error" | tr '\n' ','
}

want "faults by request" "0 1 0,2 7,5 0,4 0,3 0," "$(under --clock called --order in_order -- "$steered" reads 5 <<'END'
srd.on_request(function(r)
	if r.number == 2 then
		r:fail "REMOTE_ERROR_BAD_ADDRESS"
	elseif r.number == 3 then
		r:hold()
	elseif r.number == 4 then
		r:delay "30us"
	elseif r.number == 5 then
		local held = r.qp:request(3)
		assert(held:locate() ~= "held")
		srd.after("1ms", function()
			assert(srd.now() >= 1000000 and held:locate() == "held")
			held:release()
			assert(r:locate() == "completed")
		end)
	end
end)
END
)"
want "what it says then" "" "$(errors)"
want "a lost one, and one twice" "0 2 0,2 0,1 missing," "$(under --clock called -- "$steered" reads 3 <<'END' |
srd.on_queue_pair(function(qp)
	qp:request(1):drop()
	qp:request(3):drop()
	qp:request(2):duplicate()
end)
END
sed 's/1 missing/1 missing/')"
want "all that is there to see" "0 1 0,2 0," "$(under --clock called --seed 7 -- "$steered" reads 2 <<'END'
local device, qp, times
srd.on_device(function(d)
	assert(d.number == 0 and d.pid > 0 and tostring(d) == "device 0")
	device = d
end)
srd.on_queue_pair(function(q)
	assert(q.number == 1 and q.qp_num > 0 and q.pid == device.pid and q.device == device)
	qp = q
end)
srd.on_request(function(r)
	assert(r.qp == qp and r.opcode == "IBV_WR_RDMA_READ" and r.length == 8 and r.pid == device.pid)
	assert(r.remote_addr + 64 == r.local_addr and r.remote_qpn == qp.qp_num and r.imm_data == nil)
	assert(srd.counter "rdma_read_wrs" == r.number - 1 and srd.counter("rdma_read_wrs", device) == r.number - 1)
	times = r.number
end)
srd.at("1us", function()
	assert(times == 2 and srd.now() == 1000 and srd.seed() == 7)
	srd.log("seen", qp)
end)
END
)"
want "its log" "seen	queue pair 1," "$(errors)"
want "receivers that are not ready" "0 1 0,2 0," "$(under --clock called -- "$steered" sends 2 <<'END'
srd.on_request(function(r)
	r:not_ready(3)
end)
END
)"
want "and are not tried again" "0 1 10,2 0," "$(under --clock called -D cap_rnr_retry=false -- "$steered" sends 2 <<'END'
srd.on_request(function(r)
	if r.number == 1 then
		r:not_ready()
	end
end)
END
)"
want "a receive that fails" "0 0 5," "$(under --clock called -- "$steered" sends 1 <<'END'
srd.on_queue_pair(function(qp)
	qp:fail_receive("LOCAL_ERROR_INVALID_LKEY")
end)
END
)"
want "the device's own error" "0 1 1,2 1,3 1," "$(under --clock called -- "$steered" reads 3 <<'END'
srd.on_request(function(r)
	if r.number == 2 then
		r.qp:device_error()
	end
end)
END
)"
want "an entry of nobody's, which libefa does not take" "1 " "$(under --clock called -- "$steered" reads 1 <<'END'
srd.on_request(function(r)
	r.qp:stale_completion()
end)
END
)"
want "a peer that dies, in another process too" "0 1 missing,1 missing," "$(under --clock called -- "$steered" peers 1 <<'END'
local devices = 0
srd.on_device(function(d)
	devices = devices + 1
	d:kill()
	srd.log(d.number, devices)
end)
END
)"
want "both were seen" "0	1,0	2," "$(errors)"
# Of its requests to the other nothing is heard; the other's end with the time of a silent peer.
want "one of two devices that dies, and is there again" "0 1 0,2 13,4 9,2 missing," "$(
	under --clock called --devices 2 --order in_order -- "$steered" across 5 <<'END'
local device = {}
srd.on_device(function(d)
	device[#device + 1] = d
end)
srd.on_request(function(r)
	if r.number == 2 then
		srd.after("1ms", function()
			assert(device[2]:kill())
		end)
		r:delay "2ms"
		srd.after("3ms", function()
			assert(device[2]:restart())
		end)
	elseif r.number == 3 then
		r:drop()
	elseif r.number == 4 then
		r:delay "100ms"
	elseif r.number == 5 then
		r:drop()
	end
end)
END
)"
want "and comes back" "0 1 0,2 missing," "$(under --clock called -- "$steered" reads 3 <<'END'
srd.fabric { latency = "1us", jitter = 0 }
srd.on_request(function(r)
	if r.number == 2 then
		srd.after("10us", function()
			r.qp.device:kill()
			r.qp.device:restart()
		end)
		r:hold()
	elseif r.number == 3 then
		r:drop()
	end
end)
END
)"
want "all that is held, by the clock on the wall" "0 3 0,2 0,1 0," "$(under --order in_order -- "$steered" reads 3 1000000000 <<'END'
srd.fabric { loss = 0 }
srd.on_request(function(r)
	r:hold()
	if r.number == 3 then
		srd.at("2ms", function()
			r:release()
		end)
		srd.at("4ms", function()
			r.qp:request(2):release()
		end)
		srd.at("6ms", function()
			r.qp:release_all()
		end)
	end
end)
END
)"

# bad MESSAGE SCRIPT: before anything runs
bad() {
	want "\"$2\"" "2 " "$(echo "$2" | under -- "$steered" reads 2)"
	want "what is said of it" "$1," "$(errors)"
}
bad "3: syntax error near <eof>" 'x'
bad "1: the script asks for nothing: srd.on_device, srd.on_queue_pair, srd.on_request, srd.at or srd.fabric say what it wants" ''
bad "2: srd.scenario: this is a script over a program; scenarios are for srdlab run" 'srd.scenario()'
bad '2: profile: unknown field "losss"; did you mean "loss"?' 'srd.fabric { losss = 1 }'
can_change="partial_on_error, order, latency, jitter, bandwidth, loss, retransmit, rnr_timer, unresponsive_timeout"
bad "2: srd.fabric: mtu cannot change while a device runs; set it with --define. Those that can are $can_change" 'srd.fabric { mtu = 1000 }'
bad "2: srd.fabric: a table of fields is expected, not number" 'srd.fabric(3)'
bad "2: srd.on_request: a function is expected, not nil" 'srd.on_request()'
bad "2: srd.at: a time and a function are expected" 'srd.at(1)'
bad '2: srd.at = "soon": a time is expected, such as 500 or "50us" (units ns, us, ms, s)' 'srd.at("soon", print)'
bad "2: out of memory: the script may take 256MiB" 'local s = "x" while true do s = s .. s end'

# fails MESSAGE BODY: of a function, which ends the program
fails() {
	want "the status of \"$2\"" 2 "$(echo "srd.on_request(function(r) $2 end)" |
		under --clock called -- "$steered" reads 2 2000000000 | sed 's/ .*//')"
	want "what is said of it" "$1," "$(errors)"
}
fails '2: a request has no "hodl"; did you mean "hold"?' 'r:hold() r:hodl()'
fails '2: a queue pair has no "hold"' 'r.qp:hold()'
fails '2: srd has no "on_requests"; did you mean "on_request"?' 'r:drop() srd.on_requests(print)'
fails "2: request:hold: a request is expected, not nil: it is called with a colon" 'r.hold()'
fails "2: request:hold: a request is expected, not queue pair: it is called with a colon" 'r.hold(r.qp)'
fails "2: a request cannot be written to" 'r.number = 99'
fails '2: request:fail: status = "REMOTE_ERROR_ABOR": no such value; did you mean "REMOTE_ERROR_ABORT"?' 'r:drop() r:fail "REMOTE_ERROR_ABOR"'
fails '2: request:fail: status = 0 is out of range: 1 to 255' 'r:fail(0)'
fails '2: request:fail: status = 256 is out of range: 1 to 255' 'r:fail(256)'
fails '2: request:fail: status = "OK": what fails has another status than this one' 'r:fail "OK"'
fails '2: request:fail: status = "IBV_WC_LOC_QP_OP_ERR": a status of the device is expected; those that become this one are LOCAL_ERROR_QP_INTERNAL_ERROR, LOCAL_ERROR_UNSUPPORTED_OP, LOCAL_ERROR_INVALID_AH' 'r:fail "IBV_WC_LOC_QP_OP_ERR"'
fails '2: request:fail: status = "IBV_WC_NOSUCH": a status of the device is expected, and none becomes this one; srdlab explain lists them' 'r:fail "IBV_WC_NOSUCH"'
fails '2: queue_pair:fail_receive: after = "1ms": a whole number is expected' 'r.qp:fail_receive("REMOTE_ERROR_ABORT", "1ms")'
fails "2: srd.counter: a device is expected, not number" 'srd.counter("rdma_write_wrs", 7)'
fails "2: srd.counter: a device is expected, not string" 'srd.counter("x", "y")'
fails "2: srd.counter: the name of a counter is expected, not nil" 'srd.counter()'
fails '2: srd.counter: "rx_drop": there is no such counter; did you mean "rx_drops"?' 'srd.counter "rx_drop"'
counters=$(echo 'srd.on_request(function() srd.counter "x" end)' | under --clock called -- "$steered" reads 1 >/dev/null
	sed -n 's/.*there is no such counter; there are //p' "$folder/error")
for list in "$can_change" "$counters"; do
	want "\"$list\" in the page" 1 "$(tr -d '`' <"$page" | tr -s '\n ' ' ' | grep -cF "$list")"
done
fails '2: request:delay = "400000000s" is out of range: 0ns to 8760h' 'r:delay "400000000s"'
fails '2: srd.after = 9223372036854775807 is out of range: 0ns to 8760h' 'srd.after(math.maxinteger, print)'
fails "2: there is nothing" 'r:drop() error "there is nothing"'
fails "2: line�[31m" 'r:drop() error "line\27[31m"'
fails "2: deep,  called from line 3" 'r:drop() local function f() error "deep" end
f() f() end) srd.on_device(function()'

# Nothing that is gone is a mistake of the script's.
want "what cannot be done any more" "0 1 0," "$(under --clock called -- "$steered" ends 1 <<'END'
srd.on_request(function(r)
	srd.log(r:locate(), r.qp:request(2):locate(), r:hold(), r:release(), r:release())
	srd.after("1ms", function()
		srd.log(r:locate(), r:release())
		for _, name in ipairs { "hold", "drop", "duplicate", "fail", "delay", "not_ready" } do
			local done, why = r[name](r, name == "fail" and 7 or 1)
			assert(done == false and why == "this request is completed or lost", name)
		end
		srd.log(r.qp:device_error(), r.qp:device_error())
	end)
	srd.after("100ms", function()
		for _, name in ipairs { "release_all", "device_error", "stale_completion", "fail_receive" } do
			local done, why = r.qp[name](r.qp, 7)
			assert(done == false and why == "this queue pair is destroyed", name)
		end
		srd.log(r:locate())
		srd.log(r.qp:request(5):hold())
		srd.log(r.qp.device:kill(), r.qp.device:restart(), srd.counter "rdma_read_wrs")
	end)
end)
srd.on_request(function(r)
	srd.log("second", r.number)
end)
END
)"
want "what is answered then" "send_queue	unknown	true	true	false	this request is not held,second	1,completed	false	this request is completed or lost,true	false	this queue pair is in RESET or ERR,false	this queue pair is destroyed,false	this queue pair is destroyed,true	true	1," "$(errors)"
want "the process of a device" "0 1 0,2 0,1 0,2 0," "$(under --clock called --order in_order -- "$steered" peers 2 <<'END'
local pids = {}
srd.on_device(function(d)
	pids[#pids + 1] = d.pid
	assert(#pids == 1 or pids[1] ~= pids[2])
end)
srd.on_queue_pair(function(qp)
	assert(qp.device.pid == qp.pid and qp.pid == pids[#pids])
	if qp.number == 2 then
		srd.log("a\0b\27", qp.device.number)
	end
end)
END
)"
want "a log that a terminal can take" "a�b�	0," "$(errors)"

# All of it ends, also what takes no notice of SIGTERM and what no device was in.
want "a program that does not want to end" "2 " "$(under -- sh -c '
	trap "" TERM
	sleep 1000 &
	"$0" reads 1 >/dev/null
	while :; do
		sleep 1000
	done' "$steered" <<'END'
srd.on_request(function()
	error "enough"
end)
END
)"
want "and why it does" "3: enough," "$(errors)"

# A delay takes its time, where time is real.
late() {
	under --clock "$1" -- "$steered" "$2" 1 1000 <<'END'
srd.on_request(function(r)
	r:delay "1000s"
end)
END
}
for what in reads sends; do
	want "$what that are late" "0 1 missing," "$(late auto $what)"
	want "$what that are late, by calls" "0 1 0," "$(late called $what)"
done

"$srdlab" exec --script /no/such/script -- true 2>/dev/null
want "no script" 2 $?
"$srdlab" exec --group "s$$" -- sh -c 'env -u LD_PRELOAD "$0" exec --group "$1" --script "$2" -- true' \
	"$srdlab" "s$$" "$folder/script.lua" 2>"$folder/late"
want "a script in the middle of a group" 2 $?
want "and why" 1 "$(grep -c 'only the first program' "$folder/late")"

# A program that dies while it waits for the script, which is slow, and one that goes on.
want "a program that is killed" "0 1 0," "$(under -- sh -c '
	kill -STOP $PPID
	"$0" reads 1 >/dev/null &
	sleep 1
	kill -9 $!
	kill -CONT $PPID
	"$0" reads 1 1000000000' "$steered" <<'END'
srd.on_device(function(d)
	for _ = 1, 10 do
		srd.counter("rx_pkts", d)
	end
	srd.log "done"
end)
END
)"
want "moments that are over" "done," "$(errors)"

# Nobody who would answer: the program goes on without a script.
want "a script that is gone" "137 " "$(under -- sh -c '
	kill -STOP $PPID
	"$0" reads 1 1000000000 >"$1/alone" &
	sleep 1
	kill -9 $PPID
	wait $!
	echo "status $?" >>"$1/alone"' "$steered" "$folder" <<'END'
srd.on_request(function(r)
	r:drop()
end)
END
)"
while ! grep -q status "$folder/alone"; do
	sleep 0.1
done
want "its request" "1 0,status 0," "$(tr '\n' ',' <"$folder/alone")"
exit $((failures > 0))
