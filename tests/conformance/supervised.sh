#!/bin/sh
# shellcheck disable=SC2016
# What srdlab exec does beside the program: it waits for those that the program leaves behind,
# passes signals on, and says where no device was met.
# usage: supervised.sh SRDLAB LEFT_BEHIND CONFINED PLAIN [STATIC]
set -u
srdlab=$1 left_behind=$2 confined=$3 plain=$4 static=${5:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

# run [OPTION]... -- PROGRAM...: the status; what it prints is in $folder/out and err.
run() {
	"$srdlab" exec "$@" >"$folder/out" 2>"$folder/err"
	echo $?
}

# said TEXT: the lines of standard error that have it.
said() {
	grep -c -- "$1" "$folder/err"
}

# signalled WHAT [NUMBER]...: the status of a program that is stopped by signals to srdlab alone.
# What this shell ignores, and starts in the background, would ignore them.
signalled() {
	rm -f "$folder/ready"
	env --default-signal=INT,QUIT,TERM,HUP "$srdlab" exec -- sh -c "$1" "$folder/ready" \
		2>"$folder/err" &
	shift
	for signal in "$@"; do
		while ! [ -e "$folder/ready" ]; do sleep 0.05; done
		rm -f "$folder/ready"
		kill -s "$signal" $!
	done
	wait $!
	echo $?
}

want "the program's status, not the child's" 3 "$(run -- "$left_behind" late)"
want "the child's device" "it read" "$(cat "$folder/out")"
want "who waits says so" 1 "$(said 'waiting for them')"
want "the status over a device from before fork" 3 "$(run -- "$left_behind" inherited)"
want "that device" "it read 5, and here 0" "$(cat "$folder/out")"
want "what it has registered" 1 "$(said 'registered before fork')"

for way in small_files descriptors closed; do
	want "a program confined: $way" 0 "$(run -- "$confined" $way)"
	want "nothing to say of $way" "" "$(cat "$folder/err")"
done
want "a program with little memory" 1 "$(run -- "$confined" small_memory)"
want "what that lacks" 1 "$(said 'address space (RLIMIT_AS)')"

# A killed one leaves its folder to its program; the next that starts takes it away after that.
"$srdlab" exec -- "$left_behind" orphan "$folder/ready" >"$folder/out" 2>"$folder/err" &
until [ -e "$folder/ready" ]; do sleep 0.05; done
shared=$(tr '\0' '\n' <"/proc/$(pgrep -P $!)/environ" | sed -n 's/^SRDLAB_DEVICE_FOLDER=//p')
kill -9 $!
wait $! 2>/dev/null
want "srdlab exec after one that was killed" 0 "$("$srdlab" exec -- true; echo $?)"
rm "$folder/ready"
until grep -q 'it read' "$folder/out" || ! [ -e "$shared" ]; do sleep 0.05; done
want "a program whose srdlab exec was killed" "it read" "$(cat "$folder/out")"
want "what it says" 1 "$(said 'whose srdlab exec was killed')"
for _ in $(seq 100); do
	"$srdlab" exec -- true
	[ -e "$shared" ] || break
	sleep 0.1
done
want "what is left after both" no "$([ -e "$shared" ] && echo yes || echo no)"
want "a program whose folder is gone" 1 "$(SRDLAB_DEVICE_FOLDER=$shared SYSFS_PATH=$shared/sysfs-1 \
	LD_PRELOAD=$SRDLAB_DEVICE_LIBRARY "$left_behind" again 2>&1 | grep -c 'finds no device')"

forever='while :; do sleep 0.1; done'
for signal in INT QUIT TERM HUP; do
	want "SIG$signal, answered" 5 \
		"$(signalled "trap 'exit 5' $signal; : >\"\$0\"; $forever" "$signal")"
done
want "SIGINT, not answered" 130 "$(signalled ": >\"\$0\"; $forever" INT)"
want "SIGINT, twice" 6 "$(signalled "n=4; trap 'n=\$((n + 1)); : >\"\$0\"' INT; : >\"\$0\"
	while [ \$n -lt 6 ]; do sleep 0.1; done; exit \$n" INT INT)"
want "SIGINT for what is left behind" 4 "$(signalled '
	(while kill -0 $$ 2>/dev/null; do sleep 0.1; done; : >"$0"; exec sleep 5 >/dev/null 2>&1) &
	exit 4' INT)"

# What it ignores as it starts it ignores under exec too.
rm -f "$folder/ready"
nohup "$srdlab" exec -- sh -c ": >\"\$0\"; $forever" "$folder/ready" >"$folder/out" 2>&1 &
while ! [ -e "$folder/ready" ]; do sleep 0.05; done
kill -s HUP $! "$(pgrep -P $!)"
sleep 0.2
kill -s TERM $!
wait $!
want "SIGHUP under nohup" 143 $?
want "signals that a shell without jobs ignores" "1 1 1" "$(
	(trap '' INT QUIT HUP; exec "$srdlab" exec -- sh -c '
		for signal in INT QUIT HUP; do kill -s $signal $$; printf "%s" "${space-}1"; space=" "; done'))"
want "a signal that is blocked" 0 "$(env --block-signal=TERM "$srdlab" exec -- sh -c 'kill $$'; echo $?)"

want "a program without the device" 0 "$(run -- "$plain")"
want "nothing to say" "" "$(cat "$folder/err")"
want "rules without the device" 77 "$(run --rules law --error-exitcode 9 -- "$plain")"
want "why nothing was judged" 1 "$(said 'nothing was judged: no process')"
want "nothing else" 1 "$(wc -l <"$folder/err" | tr -d ' ')"
echo 'require "srdlab".on_device(print)' >"$folder/faults.lua"
want "a script without the device" 77 "$(run --script "$folder/faults.lua" -- "$plain")"
want "why it did nothing" 1 "$(said 'the script had nothing to do: no process')"
want "a log without the device" 77 "$(run --decisions "$folder/log" -- "$plain")"
want "why it is empty" 1 "$(said 'nothing was decided: no process')"
want "a script and a failure without the device" 7 "$(run --script "$folder/faults.lua" -- sh -c 'exit 7')"
for option in trace timeline decisions; do
	want "--$option to standard output" 2 "$(run --$option - -- "$plain")"
	want "what is said of it" 1 "$(said "\-\-$option - : this goes to a file")"
done
want "a script from standard input" 2 "$(run --script - -- "$plain")"
want "what is said of it" 1 "$(said "standard input is the program's")"
want "rules and a failure without the device" 7 "$(run --rules law -- sh -c 'exit 7')"
if [ -n "$static" ]; then
	want "a static program" 0 "$(run -- "$static")"
	want "what hinders it" 1 "$(said 'is linked statically')"
	want "rules and a static program" 77 "$(run --rules law --error-exitcode 9 -- "$static")"
	want "why it was not judged" 1 "$(said 'nothing was judged: .* is linked statically')"
	printf '#! %s -x\n' "$static" >"$folder/script"
	chmod +x "$folder/script"
	want "a script of a static interpreter" 0 "$(run -- "$folder/script")"
	want "what hinders it" 1 "$(said "script's interpreter $static is linked statically")"
fi
printf '#!%s\n' "$plain" >"$folder/script"
chmod +x "$folder/script"
want "a script" 77 "$(run --rules law -- "$folder/script")"
want "what is said of it" 1 "$(said 'no process of the program opened a device')"
printf '\177ELF\001\001\001%080d' 0 >"$folder/32bit"
chmod +x "$folder/32bit"
run -- "$folder/32bit" >"$folder/status"
want "what hinders a 32-bit program" 1 "$(said '32bit is a 32-bit program')"
if [ "$(id -u)" = 0 ]; then
	if unshare -m true 2>"$folder/err"; then
		want "no room in /dev/shm" 99 "$(unshare -m sh -c 'mount -t tmpfs -o size=200k none /dev/shm
			"$0" exec -- true 2>"$1"; echo $?' "$srdlab" "$folder/err")"
		want "what that is" 1 "$(said 'in /dev/shm: No space left')"
	fi
	want "a program confined: root" 0 "$(run -- "$confined" root)"
	cp "$plain" "$folder/setuid"
	chown 1 "$folder/setuid"
	chmod u+s "$folder/setuid"
	want "a set-user-ID program" 0 "$(PATH=/no/such:$folder:$PATH run -- setuid)"
	want "what hinders that one" 1 "$(said 'setuid is set-user-ID')"
fi
# Root gains nothing by a file's capabilities, so that the device is there.
cp "$plain" "$folder/capable"
if [ "$(id -u)" = 0 ] && setcap cap_net_raw+ep "$folder/capable" 2>"$folder/err"; then
	want "a program with capabilities, for root" 0 "$(run -- "$folder/capable")"
	want "nothing to say of it" "" "$(cat "$folder/err")"
	chmod 755 "$folder"
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	# shellcheck disable=SC2086
	if $nobody "$srdlab" exec -- true 2>"$folder/err"; then
		$nobody "$srdlab" exec -- "$folder/capable" 2>"$folder/err"
		want "a program with capabilities, for another" 0 $?
		want "what hinders it" 1 "$(said 'capable gains capabilities')"
	else
		echo "not looked at: a program with capabilities, as another user cannot use this build"
	fi
else
	echo "not looked at: a program with capabilities, which needs root and setcap"
fi
want "a device of another kind" 2 "$(run --profile rc -- "$plain")"
want "and that it is" 1 "$(said 'rc is no EFA device')"
want "one by a field" 2 "$(run --define transport=rc -- "$plain")"
exit $((failures > 0))
