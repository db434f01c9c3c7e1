#!/usr/bin/env bash
# Changes one line of meaning at a time and sees whether a test notices.
#
#   script/test --long mutation --sample 100 --files 'util/*'
#                                           a hundred changes in these files
#   script/test --long mutation --help      all options
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long mutation"
help_of_python tests/mutation/run.py "$@"
cd "$top"
/usr/bin/python3 tests/mutation/run.py --check "$@"
script/bootstrap build test mutate >&2
exec /usr/bin/python3 tests/mutation/run.py "$@"
