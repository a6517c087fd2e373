#!/bin/sh
# From a fresh Debian or Ubuntu machine to a scenario that ran on the mock.
set -eu
. "$(dirname "$0")/lib.sh"
cd "$top"

install_packages build
say "building"
target=tool
build_in build --buildtype=release -Db_lto=true
say "running scripts/scenarios/chunks.lua on the mock"
build/srdlab run --verbose scripts/scenarios/chunks.lua
say "done. Next: build/srdlab run scripts/scenarios, or write a scenario (README.md)"
