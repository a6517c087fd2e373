#!/bin/sh
# srdlab against a newer rdma-core: it builds without a warning, its generated constants are
# those of the newer headers and sources, the tests of the EFA backend pass, and so does the
# suite through it on the software device.
# usage: rdma_core.sh VERSION   in an empty or used folder of its own
set -eu
version=$1
top=$(cd "$(dirname "$0")/../.." && pwd)

folder=$("$top/scripts/rdma-core.sh" "$version") # exit 77 with the reason: skipped
work=$PWD/rdma-core-$version
libraries=$folder/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

lua5.4 "$top/tests/hw/statuses.lua" "$top/scripts/spec" "$folder/../source/providers/efa"
lua5.4 "$top/tests/hw/efa_abi.lua" "$top/scripts/spec" "$folder/../source"

[ -f "$work/build.ninja" ] || PKG_CONFIG_PATH=$libraries meson setup "$work" "$top" --werror \
	-Defa=enabled >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
targets=$(cd "$top/tests/unit" && for test in hw_[!f]*.c; do echo "tests/unit/test_${test%.c}"; done)
# shellcheck disable=SC2086
ninja -C "$work" srdlab hw/softefa/libsrdlab-softefa.so $targets >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
grep -q "SRD_RDMA_CORE_VERSION \"$version\"" "$work/hw/hw_config.h"
grep -q 'HAVE_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE 1' "$work/hw/hw_config.h"
ldd "$work/srdlab" | grep -q "libefa.so.1 => $folder/lib/"
for target in $targets; do
	"$work/$target"
done

# Every portable scenario, through this rdma-core's own libraries on the software device.
"$work/srdlab" exec --clock called -- "$work/srdlab" run --backend efa --replay-dir "" \
	"$top/scripts/scenarios"
