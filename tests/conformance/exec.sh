#!/bin/sh
# shellcheck disable=SC2016
# srdlab exec itself: statuses, what the device says of itself, what is left behind.
# usage: exec.sh SRDLAB
set -u
srdlab=$1
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

status() {
	"$srdlab" exec "$@" >/dev/null 2>&1
	echo $?
}

want "the program's status" 3 "$(status -- sh -c 'exit 3')"
want "options of the program" 0 "$(status sh -c 'test "$0" = --seed' --seed)"
want "a signal" 137 "$(status -- sh -c 'kill -9 $$')"
want "no such program" 127 "$(status -- /no/such/program)"
want "a program that cannot run" 126 "$(status -- /)"
want "no program" 2 "$(status)"
want "a wrong order" 2 "$(status --order backwards -- true)"
want "a wrong clock" 2 "$(status --clock sun -- true)"
want "a wrong profile" 2 "$(status --profile nonsense -- true)"
want "a clock of calls that nobody sees" 2 "$(status --clock called --doorbell watched -- true)"
want "a wrong group" 2 "$(status --group a/b -- true)"

sysfs=$("$srdlab" exec -- sh -c 'ls "$SYSFS_PATH/class/infiniband" >/dev/null && echo "$SYSFS_PATH"') ||
	want "sysfs" 0 $?
want "a folder of its own" 1 "$(echo "$sysfs" | grep -c '/srdlab-[^/]*/sysfs-')"
want "what is left" no "$([ -e "${sysfs%/*}" ] && echo yes || echo no)"

# What a srdlab run says of how to repeat it has what it ran under.
script=$(mktemp)
printf 'local srd = require "srdlab"\nsrd.scenario("no", {}, function(t) t:expect(1):equals(2) end)\n' >"$script"
want "the command that repeats it" "repeat: $srdlab exec --seed 9 --clock called -- $srdlab run --seed 1 $script:2" \
	"$("$srdlab" exec --clock called --seed 9 -- "$srdlab" run --replay-dir "" "$script" | sed -n 's/^ *\(repeat:\)/\1/p')"
rm "$script"

if command -v ibv_devinfo >/dev/null; then
	out=$("$srdlab" exec --devices 2 -- ibv_devinfo -v) || want "ibv_devinfo" 0 $?
	want "devices" 2 "$(echo "$out" | grep -c '^hca_id')"
	want "GIDs" 2 "$(echo "$out" | grep 'GID\[' | sort -u | wc -l)"
	want "limits" 1 "$("$srdlab" exec --profile small -- ibv_devinfo -v | grep -cE 'max_qp:[[:space:]]+8$')"
	want "two of a group" 2 "$("$srdlab" exec --group "t$$" -- sh -c 'ibv_devinfo -v
		env -u LD_PRELOAD -u SYSFS_PATH "$0" exec --group "$1" -- ibv_devinfo -v' "$srdlab" "t$$" |
		grep 'GID\[' | sort -u | wc -l)"
	want "what a group leaves" "" "$(find "${sysfs%/*/*}" -name "*-t$$*")"
else
	echo "ibv_devinfo is not installed (ibverbs-utils): its part is left out"
fi
exit $((failures > 0))
