#!/usr/bin/env bash
# Runs the shell blocks of a page of bindings/ in one shell, with the plugin that
# DELTABLOOM_PLUGIN names:
#
#   tests/bindings/page.sh LANGUAGE [LEAST_COUNTS]
#
# At 10 bits per key .11 % of the absent keys of its programs are false positives, and
# .95 % with RocksDB's Bloom filter: each count of 300,000 must be 500 or less, and there
# are LEAST_COUNTS of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
echo "== bindings/$1/README.md"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "bindings/$1/README.md" | bash -eux -s | tee "$output"
mapfile -t counts < <(grep -o '[0-9]* false positives' "$output" | grep -o '^[0-9]*')
[ ${#counts[@]} -ge "${2:-0}" ] || { echo "fewer than $2 counts of false positives" >&2; exit 1; }
for count in "${counts[@]}"; do
  [ "$count" -le 500 ] || { echo "$count false positives of 300000 absent keys" >&2; exit 1; }
done
