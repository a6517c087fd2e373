# shellcheck shell=sh
# For the tests of this folder: sourced, it counts what is not as it should be.
failures=0

# want WHAT EXPECTED GOT
want() {
	[ "$2" = "$3" ] && return
	echo "$1: \"$3\" instead of \"$2\""
	failures=$((failures + 1))
}
