#!/usr/bin/env bash
# Runs RocksDB's own stress test with Deltabloom's filters, and kills it.
#
#   script/test --long stress ROCKSDB         the tree where db_stress was built
#   script/test --long stress ROCKSDB --only transactions
#   script/test --long stress --help          all options
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long stress"
help_of_python tests/stress/run.py "$@"
exec /usr/bin/python3 "$top/tests/stress/run.py" "$@"
