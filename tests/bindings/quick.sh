#!/usr/bin/env bash
# What of bindings/ needs nothing but Debian's packages: the page of Go, with Debian's
# librocksdb, Java's native half, which only its archives can run, and the large units of
# Rust's build.rs, where names of two files may clash.
#
#   DELTABLOOM_PLUGIN=FILE tests/bindings/quick.sh
#
# Ends with 77 if a compiler is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for program in go javac; do
  command -v "$program" >/dev/null || { echo "skipped: no $program (golang-go, default-jdk-headless)"; exit 77; }
done
bash tests/bindings/page.sh go 2
java=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
echo "== bindings/java/src/main/c"
cc -std=c11 -fsyntax-only -Wall -Wextra -Werror -I"$java/include" -I"$java/include/linux" -I. \
  bindings/java/src/main/c/deltabloom_java.c
echo "== bindings/rust/build.rs"
for unit in "util table" "$(echo engines/rocksdb/{api,base,policy,ranges,statistics,plugin})"; do
  find $unit -name '*.cc' ! -path 'util/layouts/*' | sort | sed 's/.*/#include "&"/' |
    c++ -std=c++17 -fno-rtti -fsyntax-only -I. -Iinclude -x c++ -
done
