#!/usr/bin/env bash
# Runs programs as they are, of Debian and of Maven Central, with their Bloom
# filters replaced (deltabloom run --replace-bloom), and without.
#
#   script/test --long programs [NAME...]
#
# NAME: db_bench balboa sortmerna plyvel litecoind rocksjava rocksjava11 kafka flink;
# default: all. It takes some minutes for each module that is built, and needs a network for
# the Debian packages (group programs of script/bootstrap), archives and headers.
# For each program it prints the false positives before and after, where the program
# can tell them, and ends with 1 if a key is lost: with the filters replaced, when
# its data is read again with them, or without them.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. script/common.sh
script="script/test --long programs"
[[ ! " $* " =~ \ (-h|--help)\  ]] || { head_of_script; exit; }
all=(db_bench balboa sortmerna plyvel litecoind rocksjava rocksjava11 kafka flink)
names=("$@")
[ ${#names[@]} -gt 0 ] || names=("${all[@]}")
for name in "${names[@]}"; do
  if [[ " ${all[*]} " != *" $name "* ]]; then
    echo "$script: '$name': use ${all[*]}" >&2
    exit 2
  fi
done

script/bootstrap build core programs
build=$top/build/programs
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDELTABLOOM_FAST_BUILD=ON \
  -DDELTABLOOM_{ROCKSDB,LEVELDB,TOOLS}=ON -DDELTABLOOM_{SHARED_FILTERS,REDIS,EXAMPLES,TESTS}=OFF >/dev/null
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target deltabloom_tool deltabloom_replace_bloom deltabloom_rocksdb_plugin
deltabloom=$build/tools/deltabloom/deltabloom
replaced=("$deltabloom" run --replace-bloom)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$script: $*" >&2
  exit 1
}

# The line that `deltabloom run` prints at the end of a program without filters of ours.
none='deltabloom: no filters of Deltabloom in .*: none was made or read'

# Prints WHAT and the answer of the command, which must have `lost=0`.
ask() {
  local what=$1 answer
  answer=$("${@:2}" 2>"$folder/stderr" | grep -o 'lost=.*') || { cat "$folder/stderr" >&2; fail "$what: no answer"; }
  echo "$what: $answer"
  [[ $answer == "lost=0 "* ]] || fail "$what: keys are lost"
  ! grep deltabloom "$folder/stderr" >&2 || fail "$what: not replaced"
}

# A program that is called with DATABASE (fill|read).
before_and_after() {
  ask "  its own filters" "$@" "$folder/own" fill
  ask "  replaced" "${replaced[@]}" "$@" "$folder/ours" fill
  ask "  read again" "${replaced[@]}" "$@" "$folder/ours" read
  ask "  read without us" "$@" "$folder/ours" read
}

run_db_bench() {
  local command=(bash -c 'db_bench --db="$0" --num=500000 --seed=1 --bloom_bits=10 --compression_type=none \
    --statistics $([ "$1" = fill ] && echo --benchmarks=filluniquerandom,waitforcompaction,readmissing,readrandom ||
      echo --use_existing_db --benchmarks=readmissing,readrandom) |
    awk '\''/^readrandom/ { match($0, /\([0-9]+ of/); found = substr($0, RSTART + 1) + 0 }
      /full.positive COUNT/ { passed = $NF } /full.true.positive COUNT/ { true_positives = $NF }
      /filter.useful COUNT/ { useful = $NF }
      END { print "lost=" 500000 - found, "false_positives=" passed - true_positives, "useful=" useful }'\''')
  before_and_after "${command[@]}"
}

# LevelDB's filters are the same bytes before and after; the program says whose policy it has.
run_plyvel() {
  before_and_after /usr/bin/python3 tests/programs/plyvel_database.py | tee "$folder/answers"
  [ "$(grep -c 'replaced=True' "$folder/answers")" = 2 ] || fail "plyvel: not replaced"
}

# balboa and sortmerna ask for no filter, and run as ever. balboa is ended by a signal, so it
# has no line at its end.
run_balboa() {
  "${replaced[@]}" balboa-rocksdb -l 127.0.0.1 -p 14242 -d "$folder/balboa" >"$folder/stdout" 2>"$folder/stderr" &
  local server=$!
  for _ in $(seq 60); do
    ! grep -q filter_policy "$folder"/balboa/OPTIONS-* 2>/dev/null || break
    sleep 1
  done
  kill $server
  wait $server || true
  grep -q 'filter_policy=nullptr' "$folder"/balboa/OPTIONS-* || fail "balboa: $(cat "$folder/stderr")"
  ! grep deltabloom "$folder/stderr" || fail balboa
  echo "  balboa-rocksdb: asks for no filter"
}

run_sortmerna() {
  python3 - "$folder" <<'PYTHON'
import random, sys
random.seed(1)
rows = ["".join(random.choice("ACGT") for _ in range(1500)) for _ in range(20)]
with open(sys.argv[1] + "/reference.fasta", "w") as file:
    file.writelines(f">reference{i}\n{row}\n" for i, row in enumerate(rows))
with open(sys.argv[1] + "/reads.fasta", "w") as file:
    for i in range(2000):
        at = random.randrange(1400)
        row = random.choice(rows)[at:at + 100] if i % 2 else "".join(random.choice("ACGT") for _ in range(100))
        file.write(f">read{i}\n{row}\n")
PYTHON
  local kind
  for kind in own ours; do
    [ $kind = own ] && local run=() || local run=("${replaced[@]}")
    "${run[@]}" sortmerna --ref "$folder/reference.fasta" --reads "$folder/reads.fasta" --workdir "$folder/$kind" \
      --fastx --aligned "$folder/$kind.aligned" --threads 1 >"$folder/stdout" 2>"$folder/stderr" ||
      { tail -n 5 "$folder/stdout" "$folder/stderr"; fail sortmerna; }
  done
  cmp "$folder"/own.aligned.f* "$folder"/ours.aligned.f*
  grep -q "$none" "$folder/stderr" || fail "sortmerna: $(cat "$folder/stderr")"
  echo "  sortmerna: asks for no filter; the same $(grep -c '>' "$folder"/ours.aligned.f*) reads"
}

# Blocks of a chain of its own, without a network.
litecoin() { /usr/bin/litecoin-cli -regtest -datadir="$folder/coins" -rpcport=18999 "$@"; }
start_litecoind() {
  "$@" /usr/lib/litecoin/litecoind -regtest -datadir="$folder/coins" -rpcport=18999 -listen=0 -listenonion=0 \
    -txindex=1 -dbcache=4 -fallbackfee=0.001 >"$folder/stdout" 2>"$folder/stderr" &
  coins=$!
  for _ in $(seq 120); do
    if litecoin getblockcount >/dev/null 2>&1; then return; fi
    sleep 1
  done
  fail "litecoind does not answer: $(tail -n 3 "$folder/stdout" "$folder/stderr")"
}
stop_litecoind() {
  litecoin stop >/dev/null
  wait $coins
}
run_litecoind() {
  mkdir -p "$folder/coins"
  start_litecoind "${replaced[@]}"
  grep -q 'deltabloom-module.so\|/leveldb.so' /proc/$coins/maps || fail "litecoind: no module"
  litecoin createwallet w >/dev/null
  local address
  address=$(litecoin getnewaddress)
  litecoin generatetoaddress 200 "$address" >/dev/null
  local sum
  sum=$(litecoin gettxoutsetinfo | grep -E 'hash_serialized|txouts"|total_amount')
  stop_litecoind
  start_litecoind
  [ "$(litecoin gettxoutsetinfo | grep -E 'hash_serialized|txouts"|total_amount')" = "$sum" ] ||
    fail "litecoind: another set of coins without us"
  litecoin verifychain 4 0 | grep -q true || fail "litecoind: verifychain"
  stop_litecoind
  ! grep -q deltabloom "$folder/stderr" || fail "$(cat "$folder/stderr")"
  echo "  litecoind: 200 blocks, the same coins without us"
}

# run_java CLASS PROFILE MODULE... [-Dproperty]: the modules that it needs, as for script/package.
run_java() {
  local class=$1 profile=$2 abi=$3 headers=$4
  script/package modules --cxx11-abi "$abi" "crate:$headers"
  mvn --batch-mode --quiet --file tests/programs/pom.xml "-P$profile" dependency:build-classpath \
    -Dmdep.outputFile="$folder/classpath" "${@:5}"
  mkdir -p "$folder/classes"
  javac -d "$folder/classes" -cp "$(cat "$folder/classpath")" tests/programs/{"$class",Answer}.java
  DELTABLOOM_MODULES=$top/build/modules before_and_after java \
    --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/java.lang=ALL-UNNAMED \
    -cp "$folder/classes:$(cat "$folder/classpath")" "$class"
}
run_rocksjava() { run_java RocksJava rocksjava 0 librocksdb-sys@0.10.0 -Drocksdb.version=7.9.2; }
run_rocksjava11() { run_java RocksJava rocksjava 1 rust-librocksdb-sys@0.47.0 -Drocksdb.version=11.1.2; }
run_kafka() { run_java KafkaStreams kafka 0 librocksdb-sys@0.10.0; }
run_flink() { run_java Flink flink 0 librocksdb-sys@0.16.0; }

for name in "${names[@]}"; do
  echo "== $name"
  "run_$name"
  rm -rf "${folder:?}"/*
done
echo "no key was lost: ${names[*]}"
