#!/bin/sh
# Write the tables of docs/conformance.md anew: each PART is what report.lua takes.
# usage: report.sh LUA REPORT.LUA SRDLAB TOP PART...
set -eu
lua=$1 report=$2 srdlab=$3 top=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for part; do
	echo "$part"
	# shellcheck disable=SC2086
	"$lua" "$report" write "$srdlab" "$top" $part
done
