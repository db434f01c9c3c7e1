#!/usr/bin/env bash
# Runs the commands of the pages of bindings/ with the real packages of each
# language, from their registries, and the modules for them.
#
#   script/test --long bindings [LANGUAGE...]      java rust go node python; default: all
#
# It takes some minutes for each module that is built, and up to an hour of processor time
# for Rust, which compiles two RocksDBs: CARGO_TARGET_DIR keeps them. It needs a network.
# cargo fetches RocksDB's headers.
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
programs=(cargo)
[[ " ${languages[*]} " != *" node "* ]] || programs+=(npm)
for program in "${programs[@]}"; do
  command -v "$program" >/dev/null || { echo "$script: --long bindings needs $program in PATH" >&2; exit 1; }
done
cmake -S . -B build/bindings -G Ninja -DCMAKE_BUILD_TYPE=Release -DDELTABLOOM_FAST_BUILD=ON \
  -DDELTABLOOM_ROCKSDB=ON -DDELTABLOOM_{LEVELDB,SHARED_FILTERS,REDIS,TOOLS,EXAMPLES}=OFF >/dev/null
cmake --build build/bindings -j "${JOBS:-$(nproc)}" --target deltabloom_rocksdb_plugin
export DELTABLOOM_PLUGIN=$top/build/bindings/engines/rocksdb/libdeltabloom_rocksdb_plugin.so

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The counts of false positives of a page's programs.
declare -A counts=([go]=2 [node]=1 [python]=1)

# Java's tests with another RocksJava: VERSION CRATE CXX11_ABI [CLASSIFIER]
run_java() {
  echo "== RocksJava $1"
  script/package modules --cxx11-abi "$3" "crate:$2"
  mvn --batch-mode --quiet --file bindings/java/pom.xml test -Drocksdb.version="$1" -Drocksdb.classifier="${4:-}"
}

# The package in folder $1 of bindings/rust as cargo packs it, with the RocksDB that cargo
# compiled in that folder; then with that library and headers of another version.
run_crate() {
  local folder=bindings/rust/$1 name target library headers minor answer
  name=$(sed -n 's/^name = "\(.*\)"/\1/p;T;q' "$folder/Cargo.toml")
  target=${CARGO_TARGET_DIR:-$top/$folder/target}
  echo "== $name as a package"
  tar -xzf build/crates/"$name"-[0-9]*.crate -C build/crates
  cd build/crates/"$name"-[0-9]*/
  answer=$(CARGO_TARGET_DIR=$target cargo run --quiet --example database "$(mktemp -d -p "$work")")
  echo "$answer"
  grep -qx '100000 of 100000 keys found' <<<"$answer"
  library=$(find "$target" -path "*/$2-*/librocksdb.a" -printf '%T@ %p\n' | sort -n | sed -n '$s/^[^ ]* //p')
  headers=$(mktemp -d -p "$work")
  cp -r "$(cargo metadata --format-version 1 | grep -o "[^\"]*/$2-[0-9][^\"/]*/Cargo.toml" |
    xargs dirname)/rocksdb/include/." "$headers"
  minor=$(sed -n 's/^#define ROCKSDB_MINOR //p' "$headers/rocksdb/version.h")
  sed -i "s/^#define ROCKSDB_MINOR .*/#define ROCKSDB_MINOR $((minor - 1))/" "$headers/rocksdb/version.h"
  answer=$(ROCKSDB_LIB_DIR=$(dirname "$library") ROCKSDB_STATIC=1 ROCKSDB_INCLUDE_DIR=$headers CARGO_TARGET_DIR=$target/other \
    cargo run --quiet --example database "$(mktemp -d -p "$work")" 2>&1 || true)
  grep -E "built for RocksDB 11\.$((minor - 1))\.[0-9]+, but the RocksDB loaded is 11\.$minor\." <<<"$answer"
  cd "$top"
}

for language in "${languages[@]}"; do
  bash tests/bindings/page.sh "$language" "${counts[$language]:-0}"
  if [ "$language" = rust ]; then
    script/package crate
    run_crate . librocksdb-sys
    run_crate fork rust-librocksdb-sys
  fi
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
