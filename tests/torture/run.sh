#!/usr/bin/env bash
# Kills a RocksDB with Deltabloom's filters while it is written to, cuts its
# power, flips bits of its filters and indexes, and then looks for every
# acknowledged write, by Get, MultiGet and iterators, against a model of what may
# and what must be there. A cycle, from an opening to a check, takes about two
# seconds; a database lives for 20 cycles. See docs/trust.md.
#
#   script/test --long torture [options]      e.g. --cycles 1000
#
#   --cycles N     cycles to run [100]
#   --first N      number of the first cycle: where a failure began [0]
#   --seed N       seed of everything that is drawn [random, and printed]
#   --timeout N    seconds after which a process counts as hanging [900]
#   --verbose      print what each cycle does
#
# Works in a folder under $TMPDIR, which is kept after a failure.
# Exit code: 0, 1 if a write was lost or anything else went wrong, 2 for bad
# usage. From the environment: BUILD_DIR (default build/release), JOBS.
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long torture"
help_with - "$@"
check_options "--cycles --first --seed --timeout" "--verbose" \
  "--cycles --first --seed --timeout" "$@"

"$top/script/bootstrap" build test >&2
build=${BUILD_DIR:-$top/build/release}
build_target "$build" torture -DDELTABLOOM_{DB_BENCH_EXT,TOOLS,TESTS}=ON
exec "$build/tests/torture/torture" "$@"
