#!/bin/sh
# What a user does: install, build the examples with what pkg-config says, run them.
# usage: installed.sh BUILD_FOLDER SOURCE_FOLDER
set -eu
build=$1 source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=0

ok() {
	count=$((count + 1))
	echo "ok $count - $1"
}

DESTDIR=$dir meson install -C "$build" --no-rebuild --quiet >"$dir/log" 2>&1 || {
	cat "$dir/log"
	exit 1
}
pc=$(find "$dir" -name srdlab.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$dir
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
lib=$(pkg-config --variable=libdir srdlab)
case $lib in "$dir"*) ;; *) lib=$dir$lib ;; esac
LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH
srdlab=$(find "$dir" -path '*/bin/srdlab')
ok "it installs"

if [ -f "$build/plants/plants.json" ]; then
	"$srdlab" rules --check queue-pair-as-it-is gap by-arrival >"$dir/log" 2>&1 || {
		sed 's/^/# /' "$dir/log"
		exit 1
	}
	ok "planted defects are found where they are installed"
else
	ok "planted defects are found where they are installed # SKIP built with -Dplants=false"
fi

headers=$(pkg-config --cflags srdlab-plugin)
examples=$source/examples
contract() {
	"$srdlab" run --filter tag:contract --replay-dir '' "$@" "$source/tests/plugin/contract.lua" \
		"$source/scripts/scenarios" >"$dir/log" 2>&1 || {
		sed 's/^/# /' "$dir/log"
		exit 1
	}
	echo "# $(tail -n 1 "$dir/log")"
}

strict="-Wall -Wextra -Werror -Wno-unused-parameter -shared -fPIC"
# shellcheck disable=SC2086 # lists of words
${CC:-cc} -std=c11 $strict $headers -o "$dir/c.so" "$examples/queue_pair_c/queue_pair.c"
contract --queue-pair "$dir/c.so"
ok "the queue pair in C"
# shellcheck disable=SC2086
${CC:-cc} -std=c11 $strict $headers -o "$dir/s.so" "$examples/scheduler_c/scheduler.c"
contract --scheduler "$dir/s.so"
ok "the scheduler in C"
contract --queue-pair "$dir/c.so" --scheduler "$dir/s.so"
ok "both together"

if command -v "${CXX:-c++}" >/dev/null; then
	# shellcheck disable=SC2086
	${CXX:-c++} -std=c++17 $strict $headers -o "$dir/cc.so" "$examples/queue_pair_cpp/queue_pair.cpp"
	contract --queue-pair "$dir/cc.so"
	ok "the queue pair in C++"
else
	ok "the queue pair in C++ # SKIP there is no C++ compiler"
fi

# cmocka is the system's own: without the sysroot.
cmocka=$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --cflags --libs cmocka)
# shellcheck disable=SC2046,SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror -Wno-unused-parameter -o "$dir/test_put" \
	"$examples/cmocka/test_put.c" $(pkg-config --cflags srdlab) -L"$lib" -lsrdlab $cmocka
"$dir/test_put" 2>&1 | sed 's/^/# /'
"$dir/test_put" >/dev/null 2>&1
ok "the test with cmocka"

if command -v rustc >/dev/null && rustc --version >/dev/null 2>&1; then
	rustc --edition 2021 -D warnings --test -o "$dir/put" -L "native=$lib" -l srdlab \
		"$examples/rust/put.rs"
	"$dir/put" >"$dir/log" 2>&1 || {
		sed 's/^/# /' "$dir/log"
		exit 1
	}
	ok "the test in Rust"
else
	ok "the test in Rust # SKIP there is no rustc"
fi
echo "1..$count"
