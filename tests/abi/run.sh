#!/usr/bin/env bash
# Compares the binary interface of the shared libraries with the committed one: a
# program that was linked with an earlier release of the same minor version must
# run with this one.
#
#   script/test --long abi             exit status 1 and a report, if one changed
#   script/test --long abi --update    writes tests/abi/*.abi anew
#
# The descriptions hold functions and types of the public headers, as abidw of
# Debian's abigail-tools finds them in debug information. Types of the standard
# library, of RocksDB and of LevelDB are left out: they belong to the machine.
# Functions and enumerators that are only added need no --update; what is
# allowed to change in which version stands in docs/compatibility.md.
#
# Debian 12's abidiff does that. Debian 13's stops at one of its own assertions when it
# reads these descriptions, and the exit status is then 3: nothing is known.
# script/debian 12 script/test --long abi runs the other one.
#
# The libraries are built in build/abi (from the environment: BUILD_DIR, JOBS).
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long abi"
help_with - "$@"

update=
case "$#:${1:-}" in
  0:) ;;
  1:--update) update=yes ;;
  *)
    echo "$script: unknown argument '$*': see $script --help" >&2
    exit 2
    ;;
esac
cd "$top"
script/bootstrap build abi

build=${BUILD_DIR:-build/abi}
libraries=(deltabloom deltabloom_rocksdb deltabloom_leveldb deltabloom_shared deltabloom_redis)
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS='-g -O0' -DBUILD_SHARED_LIBS=ON \
  -DDELTABLOOM_{ROCKSDB,LEVELDB,REDIS}=ON -DDELTABLOOM_{TOOLS,TESTS,EXAMPLES,DB_BENCH_EXT}=OFF >/dev/null
echo "Building the shared libraries with debug information in $build"
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${libraries[@]}"

suppressions=tests/abi/suppressions.ini
headers=()
for folder in include */include; do
  [ ! -d "$folder/deltabloom" ] || headers+=(--headers-dir "$top/$folder")
done

failed=0
for library in "${libraries[@]}"; do
  # The newest, as an earlier build may have left one in another folder.
  file=$(find "$build" -name "lib$library.so.*" -type f -printf '%T@ %p\n' | sort -rn | head -n 1 | cut -d ' ' -f 2-)
  now=$build/$library.abi
  abidw "${headers[@]}" --drop-private-types --exported-interfaces-only --no-show-locs --no-corpus-path \
    --no-comp-dir-path --no-elf-needed --no-parameter-names --suppressions "$suppressions" \
    --out-file "$now" "$file"
  if [ -n "$update" ]; then
    sed "s|path='$PWD/|path='|" "$now" >"tests/abi/$library.abi"  # without the folder of the sources
    echo "$library: tests/abi/$library.abi is written"
    continue
  fi
  status=0
  abidiff --no-added-syms --suppressions "$suppressions" "tests/abi/$library.abi" "$now" >"$build/$library.txt" || status=$?
  # Bits of the status: 1 it failed, 2 it was called wrongly, 4 and 8 there are
  # changes. A signal, such as that of an assertion, adds 128.
  if [ "$status" -eq 0 ]; then
    echo "$library: a program linked with the described library runs with this one"
  elif [ "$status" -ge 128 ] || [ $((status & 3)) -ne 0 ]; then
    echo "$library: abidiff failed with exit status $status, so nothing is known. Debian 12's works: script/debian 12 $script" >&2
    failed=3
  else
    cat "$build/$library.txt"
    echo "$library: the binary interface changed, see above. If a new minor version is meant: $script --update" >&2
    [ "$failed" -eq 3 ] || failed=1
  fi
done
exit "$failed"
