#!/bin/sh
# The trace hash of every scenario, to compare builds: a line "FILE:LINE:SEED NAME HASH" each.
#   sh scripts/hashes.sh BUILD_DIR [OPTION OF srdlab run]...
set -eu
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
# The exit status is not looked at: what failed has a hash too, and is another test's matter.
"$build/srdlab" run --json - --replay-dir '' --jobs 2 "$@" scripts/scenarios 2>/dev/null |
	sed -n 's/^{"file":"\([^"]*\)","name":"\(.*\)","line":\([0-9]*\),"seed":\([0-9]*\),.*"trace_hash":"\([0-9a-f]*\)".*/\1:\3:\4 \2 \5/p'
