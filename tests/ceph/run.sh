#!/usr/bin/env bash
# A cluster of Ceph, one monitor and one OSD, with Deltabloom's filters: runs the
# commands of docs/ceph.md, kills the OSD, takes the module away, gives it wrong
# ones and wrong texts, and prints what the filters save. No object is lost.
#
#   script/test --long ceph [--keep]
#
# Uses Ceph 18.2.7 of Debian 13 in build/debian-13-ceph (script/debian), on
# 127.0.0.1 in a network of its own. Nothing is left running. Takes some twenty
# minutes on two cores, the first time ten more. --keep takes over what an earlier
# run has built. cargo fetches RocksDB's headers. Needs root or sudo, and a
# network.
#
# From the environment: DEBIAN_ROOT, DEBIAN_MIRROR (see script/debian), OBJECTS
# (default 6000), JOBS.
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long ceph"
help_with - "$@"
keep=()
if [ "${1:-}" = --keep ]; then
  keep=(--keep)
  shift
fi
[ $# -eq 0 ] || { echo "$script: bad option '$1': see $script --help" >&2; exit 2; }
cd "$top"
export DEBIAN_ROOT=${DEBIAN_ROOT:-$top/build/debian-13-ceph}
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

script/bootstrap build
headers=$(fetch_crate librocksdb-sys@0.10.0)/rocksdb/include # 7.9.2
# The command, and a module of another version.
cmake -S . -B build/ceph -G Ninja -DCMAKE_BUILD_TYPE=Release -DDELTABLOOM_FAST_BUILD=ON \
  -DDELTABLOOM_{ROCKSDB,TOOLS}=ON -DDELTABLOOM_{LEVELDB,SHARED_FILTERS,REDIS,EXAMPLES,TESTS}=OFF >/dev/null
cmake --build build/ceph -j "${JOBS:-$(nproc)}" --target deltabloom_tool deltabloom_rocksdb_module
script/debian "${keep[@]}" 13 true
tool=build/ceph/tools/deltabloom/deltabloom
opt=$DEBIAN_ROOT/opt/deltabloom
"${as_root[@]}" rm -rf "$opt" "$DEBIAN_ROOT/rocksdb-headers"
"${as_root[@]}" mkdir -p "$opt/other" "$DEBIAN_ROOT/rocksdb-headers"
"${as_root[@]}" cp -r "$headers" "$DEBIAN_ROOT/rocksdb-headers/include"
# With the C library of this machine, as it is built here.
"${as_root[@]}" cp -L "$tool" $(ldd "$tool" | grep -o '/[^ ]*') "$opt"
"${as_root[@]}" cp -L build/ceph/engines/rocksdb/deltabloom/*.so "$opt/other/rocksdb-7.9-cxx11abi1.so"
script/debian --keep 13 env OBJECTS="${OBJECTS:-6000}" JOBS="${JOBS:-$(nproc)}" bash tests/ceph/in_chroot.sh
