#!/usr/bin/env bash
# Runs the commands of the pages of bindings/ with the real packages of each
# language, from their registries, and the modules for them.
#
#   script/test --long bindings [LANGUAGE...]      java rust go node python; default: all
#
# It takes some minutes for each module that is built, and half an hour of processor time
# for Rust, which compiles RocksDB itself. It needs a network. cargo fetches
# RocksDB's headers.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. script/common.sh
script=script/test
[[ ! " $* " =~ \ (-h|--help)\  ]] || { head_of_script; exit; }
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(java rust go node python)
for language in "${languages[@]}"; do
  if [ ! -f "bindings/$language/README.md" ]; then
    echo "$script: --long bindings '$language': use java, rust, go, node or python" >&2
    exit 2
  fi
done

script/bootstrap build core bindings
# Those of Debian 12 are too old for the packages.
for program in cargo npm; do
  command -v "$program" >/dev/null || { echo "$script: --long bindings needs $program in PATH" >&2; exit 1; }
done
cmake -S . -B build/bindings -G Ninja -DCMAKE_BUILD_TYPE=Release -DDELTABLOOM_FAST_BUILD=ON \
  -DDELTABLOOM_ROCKSDB=ON -DDELTABLOOM_{LEVELDB,SHARED_FILTERS,REDIS,TOOLS,EXAMPLES}=OFF >/dev/null
cmake --build build/bindings -j "${JOBS:-$(nproc)}" --target deltabloom_rocksdb_plugin
export DELTABLOOM_PLUGIN=$top/build/bindings/engines/rocksdb/libdeltabloom_rocksdb_plugin.so

# The counts of false positives of a page's programs.
declare -A counts=([go]=2 [node]=1 [python]=1)

# Java's tests with another RocksJava: VERSION CRATE CXX11_ABI [CLASSIFIER]
run_java() {
  echo "== RocksJava $1"
  script/package modules --cxx11-abi "$3" "crate:$2"
  mvn --batch-mode --quiet --file bindings/java/pom.xml test -Drocksdb.version="$1" -Drocksdb.classifier="${4:-}"
}

for language in "${languages[@]}"; do
  bash tests/bindings/page.sh "$language" "${counts[$language]:-0}"
  if [ "$language" = java ]; then
    run_java 10.4.2 librocksdb-sys@0.17.3 0 linux64
    run_java 11.1.2 rust-librocksdb-sys@0.47.0 1
    # What does not fit, with the native libraries of all three.
    mapfile -t jars < <(find ~/.m2/repository/org/rocksdb/rocksdbjni -name 'rocksdbjni-*.jar' -size +1M \
      -regex '.*/rocksdbjni-\(7\.9\.2\|10\.4\.2-linux64\|11\.1\.2\)\.jar' | sort)
    python3 tests/bindings/refusals.py "$DELTABLOOM_PLUGIN" build/modules \
      "$(find /usr/lib -name librocksdb.so | head -n 1)" "${jars[@]}"
  fi
done
echo "the bindings' pages hold: ${languages[*]}"
