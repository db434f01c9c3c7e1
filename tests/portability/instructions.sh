#!/usr/bin/env bash
# Counts what a lookup and an added key take on aarch64: the instructions that
# qemu-user executes, and the cycles that llvm-mca predicts for them. Nothing is
# timed.
#
#   script/test --long portability arm64-rocksdb      # builds what is counted
#   tests/portability/instructions.sh
#
# Filters of 1,024 keys of 16 bytes at 10 bits per key, all called through RocksDB's
# virtual builder and reader, in a program that is linked statically. Needs llvm-19:
# LLVM 14 has the model of the Cortex-A57 for both CPUs.
#
# llvm-mca gets the executed instructions in their order. It assumes that all data is
# in the first cache, that every branch is predicted and that nothing waits for
# instructions.
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
help_with - "$@"
for program in qemu-aarch64 llvm-objdump-19 llvm-mca-19; do
  if ! command -v "$program" >/dev/null; then
    echo "$0: $program is missing: apt-get install qemu-user llvm-19" >&2
    exit 2
  fi
done
build=${BUILD_DIR:-$top/build/portability}
root=$build/arm64-rocksdb-root
library=$build/arm64-rocksdb/engines/rocksdb/libdeltabloom_rocksdb.a
if [ ! -f "$library" ]; then
  echo "$0: $library is missing: run script/test --long portability arm64-rocksdb" >&2
  exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$folder/instructions
aarch64-linux-gnu-g++ --sysroot="$root" -std=c++17 -O2 -static -I"$top" -I"$top/include" \
  "$top/tests/portability/instructions.cc" "$library" -l{rocksdb,snappy,z,bz2,lz4,zstd} \
  -o "$program" 2>"$folder/linker" || { cat "$folder/linker" >&2; exit 1; }
# Lines of "ADDRESS: INSTRUCTION". Targets of branches and pages become a symbol.
llvm-objdump-19 -d --no-show-raw-insn "$program" |
  sed -n 's/^ *\([0-9a-f]\+\): \+\t\?/\1: /; s/0x[0-9a-f]\+ <.*>/target/; /^[0-9a-f]\+: /p' >"$folder/code"

# Writes the instructions that the program executes between Begin and End.
trace() {
  # With -singlestep each instruction is a block, and each block a line, which ends
  # with "[.../ADDRESS/...] SYMBOL". The C library takes its functions by the CPU.
  DELTABLOOM_CPU=$1 qemu-aarch64 -cpu neoverse-n1 -singlestep -d exec,nochain "$program" "$2" "$3" 2>&1 >/dev/null |
    awk '$NF == "End" { counted = 0 }
         counted && /^Trace/ { split($0, part, "/"); sub(/^0+/, "", part[2]); print part[2] }
         $NF == "Begin" { counted = 1 }' |
    awk -v code="$folder/code" '
      BEGIN { while ((getline line < code) > 0) { at = index(line, ":"); text[substr(line, 1, at - 1)] = substr(line, at + 2) } }
      { print text[$1] }' >"$folder/trace"
}

cycles() {
  # By default a call takes 100 cycles; here its instructions follow. The models lack a few
  # atomic instructions, which only building has, in the allocator.
  llvm-mca-19 -mtriple=aarch64 -mcpu="$1" -iterations=1 -instruction-info=0 -resource-pressure=0 \
    -call-latency=1 -skip-unsupported-instructions=lack-sched "$folder/trace" \
    >"$folder/cycles" 2>"$folder/errors" || { cat "$folder/errors" >&2; return 1; }
  sed -n 's/^Total Cycles: *//p' "$folder/cycles"
}

filters=("rocksdb-bloom portable" "classic portable" "local portable" "local neon" "compact portable" "compact neon")
declare -A works=([absent]="lookup, absent" [present]="lookup, present" [batch]="lookup in a batch" [build]="added key")
declare -A measures=([instructions]=instructions [neoverse-n1]="cycles, Neoverse N1" [neoverse-v1]="cycles, Neoverse V1")
declare -A row
for filter in "${filters[@]}"; do
  read -r name cpu <<<"$filter"
  for work in absent present batch build; do
    echo "$filter, $work" >&2
    trace "$cpu" "$name" "$work"
    keys=256
    [ "$work" != build ] || keys=1024
    for measure in instructions neoverse-n1 neoverse-v1; do
      if [ "$measure" = instructions ]; then
        number=$(wc -l <"$folder/trace")
      else
        number=$(cycles "$measure")
      fi
      row[$measure,$work]+=" $(((number + keys / 2) / keys)) |"
    done
  done
done
echo "| | per |$(printf ' %s |' "${filters[@]}")"
echo "|---|---|$(printf -- '---|%.0s' "${filters[@]}")"
for measure in instructions neoverse-n1 neoverse-v1; do
  for work in absent present batch build; do
    echo "| ${measures[$measure]} | ${works[$work]} |${row[$measure,$work]}"
  done
done
