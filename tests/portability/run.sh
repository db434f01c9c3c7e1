#!/usr/bin/env bash
# Builds the core for other machines and with other rules of the language, and
# runs its tests there, with the same goldens. For 64-bit ARM it does so with the
# RocksDB policy, too.
#
#   script/test --long portability [TARGET...]     default: all
#
#   aarch64        64-bit ARM, cross-compiled, run by qemu-user
#   arm64-rocksdb  the same machine: the tests of the RocksDB policy, with the RocksDB
#                  of Debian's arm64 packages, which are unpacked, not installed; and
#                  the plugin, preloaded.
#                  Without tests that run Python, and without those that start a
#                  program, as qemu-user cannot
#   s390x          IBM Z, big-endian, cross-compiled, run by qemu-user
#   i386           32-bit x86, cross-compiled, run as it is: on amd64 only
#   signed-char    gcc with -fsigned-char
#   unsigned-char  gcc with -funsigned-char
#   msan           clang's MemorySanitizer: nothing reads what was never written.
#                  Without hash_list_test, layout_adversarial_test and range_builder_test,
#                  which count allocations in an operator new of their own
#
# The tests are those of script/test --core, or of the label rocksdb. GoogleTest is
# built for each target from Debian's sources. Prints a line per target, and of a failure the
# end of its log; builds and logs are in build/portability (from the
# environment: BUILD_DIR, JOBS).
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long portability"
help_with - "$@"

all=(aarch64 arm64-rocksdb s390x i386 signed-char unsigned-char msan)
targets=()
for argument in "$@"; do
  if [[ " ${all[*]} " != *" $argument "* ]]; then
    echo "$script: unknown target '$argument': use ${all[*]}" >&2
    exit 2
  fi
  targets+=("$argument")
done
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
cd "$top"

packages=(core portability)
[[ " ${targets[*]} " != *" msan "* ]] || packages+=(clang)
script/bootstrap "${packages[@]}"
folder=${BUILD_DIR:-build/portability}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
jobs=${JOBS:-$(nproc)}

# Sets compiler and settings for machine $1, whose programs are run by $2 with the
# further arguments.
cross() {
  compiler=$1-linux-gnu-g++
  settings=("-DCMAKE_C_COMPILER=$1-linux-gnu-gcc" -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$1"
    "-DCMAKE_CROSSCOMPILING_EMULATOR=$(IFS=';' && echo "${*:2}")")
}

# Sets compiler, flags and settings for CMake, the label of the tests that run
# (default: all), those of them that do not, the cases of these that run, and the
# folder of foreign packages.
choose() {
  compiler=g++
  flags=-O2
  settings=()
  unfit='^$'
  label=
  cases='*'
  root=
  standard_library=
  case "$1" in
    aarch64 | s390x) cross "$1" "qemu-$1" -L "/usr/$1-linux-gnu" ;;
    i386)
      local libraries=/usr/i686-linux-gnu/lib
      cross i686 "$libraries/ld-linux.so.2" --library-path "$libraries"
      ;;
    arm64-rocksdb)
      root=$folder/arm64-rocksdb-root
      cross aarch64 qemu-aarch64 -L "$root"
      # RocksDB's CMake package names files of other packages by their paths on an
      # arm64 system, so it is not used.
      settings+=("-DCMAKE_SYSROOT=$root" -DCMAKE_FIND_ROOT_PATH_MODE_{PACKAGE,LIBRARY,INCLUDE}=ONLY
        -DDELTABLOOM_ROCKSDB=ON "-DDELTABLOOM_ROCKSDB_PREFIX=$root/usr" -DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON)
      label=rocksdb
      cases='-*DeathTest.*'
      ;;
    signed-char) flags='-O2 -fsigned-char' ;;
    unsigned-char) flags='-O2 -funsigned-char' ;;
    msan)
      compiler=clang++
      local sanitize='-O1 -g1 -fsanitize=memory -fno-sanitize-recover=all -fno-omit-frame-pointer'
      # CMake passes what is in quotes to a shell.
      flags="$sanitize -include '$top/tests/portability/instantiate.h'"
      # This object fills in for the parts of libstdc++ that are not
      # instrumented. It must come ahead of them, so they must be linked
      # statically. Three tests have an operator new of their own, as the
      # sanitizer has.
      standard_library=$folder/msan-$(cksum <tests/portability/standard_library.cc | cut -d ' ' -f 1).o
      local link="'$standard_library' -static-libstdc++ -Wl,-z,muldefs" wrapped
      for wrapped in $(sed -n 's/^[a-z_:]\+ __real_\([^(]*\)(.*/\1/p' tests/portability/standard_library.cc); do
        link+=" -Wl,--wrap=$wrapped"
      done
      settings=(-DCMAKE_C_COMPILER=clang "-DCMAKE_C_FLAGS=$sanitize" "-DCMAKE_CXX_STANDARD_LIBRARIES=$link")
      unfit='hash_list_test|layout_adversarial_test|range_builder_test'
      ;;
  esac
  settings+=(-G Ninja "-DCMAKE_CXX_COMPILER=$compiler" "-DCMAKE_CXX_FLAGS=$flags")
}

# Unpacks RocksDB, and what it needs, from the arm64 packages of this release of
# Debian into folder $1.
unpack_arm64() {
  local release
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # The folder has another name until it is whole.
  rm -rf "$1.part"
  mmdebstrap --arch=arm64 --variant=extract --include=librocksdb-dev,libc6-dev,nlohmann-json3-dev \
    "$release" "$1.part" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} && mv "$1.part" "$1"
}

# Preloads the plugin of build $1 into a program: it finds RocksDB and its module, and
# of 300,000 absent keys some hundred are false positives, twice. The library is loaded by
# its own path, as qemu looks for files in the root, but not for those that links name.
run_preloaded() {
  cmake --build "$1" -j "$jobs" --target deltabloom_rocksdb_plugin &&
    "$compiler" --sysroot="$root" -std=c++17 -O2 tests/rocksdb/preload/database.cc -o "$1/database" -lrocksdb &&
    rm -rf "$1/db" &&
    qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu" \
      -E LD_PRELOAD="$1/engines/rocksdb/libdeltabloom_rocksdb_plugin.so" "$1/database" "$1/db" \
      'block_based_table_factory={filter_policy={id=deltabloom;bits_per_key=10;upper_bits_per_key=10}}' |
    tee /dev/stderr | grep -cx '[0-9]\{3\} false positives' | grep -x 2
}

build_and_test() {
  local build=$folder/$1 googletest=$folder/$1-googletest
  if [ -n "$standard_library" ]; then
    eval "$compiler -std=c++17 $flags" -fPIC -c tests/portability/standard_library.cc -o '"$standard_library"' || return
  fi
  if [ -n "$root" ] && [ ! -d "$root" ]; then
    unpack_arm64 "$root" || return
  fi
  cmake -S /usr/src/googletest -B "$googletest/build" "${settings[@]}" \
    -DCMAKE_BUILD_TYPE=None -DBUILD_GMOCK=OFF \
    "-DCMAKE_INSTALL_PREFIX=$googletest" -DCMAKE_INSTALL_LIBDIR=lib &&
    cmake --build "$googletest/build" -j "$jobs" --target install &&
    cmake -S . -B "$build" -DDELTABLOOM_{ROCKSDB,LEVELDB,SHARED_FILTERS,TOOLS,EXAMPLES,INSTALL}=OFF \
      "${settings[@]}" -DCMAKE_BUILD_TYPE=None "-DGTest_DIR=$googletest/lib/cmake/GTest" \
      -DDELTABLOOM_TESTS=ON || return
  # Each test of the label rocksdb is named like its target.
  local programs=(all)
  if [ -n "$label" ]; then
    mapfile -t programs < <(ctest --test-dir "$build" -N -L "^$label\$" | sed -n 's/^ *Test *#[0-9]*: //p')
  fi
  cmake --build "$build" -j "$jobs" --target "${programs[@]}" &&
    GTEST_FILTER=$cases ctest --test-dir "$build" -j "$jobs" --output-on-failure --timeout 7200 \
      ${label:+-L "^$label\$"} --label-exclude plain-only --exclude-regex "$unfit" &&
    { [ -z "$root" ] || run_preloaded "$build"; }
}

failed=0
for target in "${targets[@]}"; do
  choose "$target"
  log=$folder/$target.log
  start=$SECONDS
  if build_and_test "$target" >"$log" 2>&1; then
    printf '%-14s %s, %s s: %s\n' "$target" "$(sed -n 's/^100% tests passed.* out of \(.*\)/\1 tests pass/p' "$log")" \
      "$((SECONDS - start))" "$("$compiler" --version | head -n 1)"
  else
    failed=1
    tail -n 60 "$log"
    printf '%-14s FAILED, see %s\n' "$target" "$log"
  fi
done
exit "$failed"
