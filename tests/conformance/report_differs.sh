#!/bin/sh
# A page that says something else than what is seen is found, and named; one that says nothing
# of a version is left alone.
# usage: report_differs.sh LUA REPORT.LUA SRDLAB TOP      exit 77: ibv_devinfo is not here
set -u
lua=$1 report=$2 srdlab=$3 top=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/docs"
ln -s "$top/scripts" "$top/tests" "$folder"

# check WHAT SED STATUS PATTERN: the page changed by SED gives this status, and says PATTERN.
check() {
	sed "$2" "$top/docs/conformance.md" >"$folder/docs/conformance.md"
	out=$("$lua" "$report" check "$srdlab" "$folder" devinfo 2>&1)
	status=$?
	if [ $status != "$3" ] || ! echo "$out" | grep -q "$4"; then
		echo "$1: status $status instead of $3, and said: $out"
		exit 1
	fi
}

"$lua" "$report" check "$srdlab" "$top" devinfo >/dev/null 2>&1
status=$?
[ $status = 0 ] || exit $status
check "a cell" '/^| efa1 /s/| 512 |/| 513 |/' 1 'seen | efa1 | 61345 '
check "a row too few" '/^| small /d' 1 'says nil'
check "a row too many" '/^| small /p' 1 'seen nil'
check "no such version" 's/begin: ibv_devinfo/begin: other/' 77 'says nothing of ibv_devinfo'
