#!/usr/bin/env bash
# Counts the lines and branches of the core and of the engines that tests reach.
#
#   script/test --long coverage [ctest options]          e.g. -R rocksdb
#   script/test --long coverage --core [ctest options]   the core's tests alone
#
# Builds with gcc's --coverage (the libraries, not the tests) in build/coverage
# (--core: build/coverage-core; from the environment: BUILD_DIR, JOBS), runs the
# tests of the core, of RocksDB and of LevelDB, and prints for each file the share
# of its lines that is reached and the lines that no test reached. The folder html
# there has the sources with counts of lines and branches; branches that only an
# exception takes are left out.
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long coverage"
help_with - "$@"

groups=(build test coverage)
build=${BUILD_DIR:-build/coverage}
parts=(-DDELTABLOOM_{SHARED_FILTERS,EXAMPLES,DB_BENCH_EXT}=OFF)
if [ "${1:-}" = --core ]; then
  groups=(core coverage)
  build=${BUILD_DIR:-build/coverage-core}
  parts=(-DDELTABLOOM_{ROCKSDB,LEVELDB,SHARED_FILTERS,TOOLS,EXAMPLES,INSTALL}=OFF)
  shift
fi
cd "$top"

script/bootstrap "${groups[@]}"
jobs=${JOBS:-$(nproc)}
mkdir -p "$build"
build=$(cd "$build" && pwd)
build_target "$build" all -DCMAKE_CXX_COMPILER=g++ -DDELTABLOOM_TESTS=ON -DDELTABLOOM_COVERAGE=ON \
  -DDELTABLOOM_FAST_BUILD=ON "${parts[@]}"
find "$build" -name '*.gcda' -delete
# tool_estimate_test limits the files that its program may write, and counts are
# files, too.
if ! ctest --test-dir "$build" -j "$jobs" --output-on-failure --exclude-regex tool_estimate_test "$@" \
  >"$build/tests.log" 2>&1; then
  tail -n 40 "$build/tests.log" >&2
  echo "$script: tests fail" >&2
  exit 1
fi
mkdir -p "$build/html"
gcovr --root . --object-directory "$build" -j "$jobs" \
  --filter util/ --filter table/ --filter engines/ --filter include/ \
  --exclude-throw-branches --exclude-unreachable-branches \
  --txt "$build/coverage.txt" --html-details "$build/html/index.html" "$build" \
  >"$build/gcovr.log" 2>&1 || { tail -n 20 "$build/gcovr.log" >&2; exit 1; }
cat "$build/coverage.txt"
