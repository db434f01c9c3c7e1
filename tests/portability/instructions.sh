#!/usr/bin/env bash
# Counts the instructions of Deltabloom's kernels on aarch64, as qemu-user executes
# them: per lookup and per added key, portable code and NEON. They are no times.
#
#   script/test --long portability aarch64      # builds what is counted
#   tests/portability/instructions.sh
#
# Filters of 2,000 keys of 16 bytes at 10 bits per key. A count is the difference of
# two runs, one of which does 1,024 lookups, or adds 1,024 keys, more.
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
help_with - "$@"
build=${BUILD_DIR:-$top/build/portability}
library=$build/aarch64/table/libdeltabloom.a
if [ ! -f "$library" ]; then
  echo "$0: $library is missing: run script/test --long portability aarch64" >&2
  exit 2
fi
program=$build/instructions
aarch64-linux-gnu-g++ -std=c++17 -O2 -static -I"$top" -I"$top/include" \
  "$top/tests/portability/instructions.cc" "$library" -o "$program"

# With -singlestep each instruction is a block, and each block a line.
executed() {
  DELTABLOOM_CPU=$cpu qemu-aarch64 -singlestep -d exec,nochain "$program" "$@" 2>&1 >/dev/null | grep -c '^Trace'
}
# Per key: of a run with LESS and one with MORE, which differ by 1024 keys.
per_key() { echo $((($(executed $2) - $(executed $1) + 512) / 1024)); }

echo "| layout | instructions | lookup, absent | lookup, present | lookup in a batch | added key |"
echo "|---|---|---|---|---|---|"
for layout in classic local compact; do
  for cpu in portable neon; do
    # classic has no kernels of its own there.
    [ "$layout $cpu" != "classic neon" ] || continue
    row="| $layout | $cpu"
    for kind in absent present batch; do
      row+=" | $(per_key "$layout 2000 0 $kind" "$layout 2000 1024 $kind")"
    done
    echo "$row | $(per_key "$layout 2000 0 absent" "$layout 3024 0 absent") |"
  done
done
