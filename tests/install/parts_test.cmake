# Which parts are built where a dependency is missing, and the messages about
# it. Packages are hidden from CMake; nothing is compiled.
cmake_minimum_required(VERSION 3.22)

# Configures `source` with `ARGN` and gives its result and output.
function(configure source)
  file(REMOVE_RECURSE ${WORK})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${WORK} -G Ninja
      -DCMAKE_CXX_COMPILER=${CXX} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  # CMake folds the lines of an error.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(result ${result} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_result wanted)
  if(wanted STREQUAL "success" AND NOT result EQUAL 0)
    message(FATAL_ERROR "configuring failed: ${output}")
  elseif(wanted STREQUAL "failure" AND result EQUAL 0)
    message(FATAL_ERROR "configuring did not fail: ${output}")
  endif()
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "'${text}' is missing in: ${output}")
  endif()
endfunction()

set(hide)
foreach(package RocksDB CLI11 nlohmann_json PkgConfig GTest)
  list(APPEND hide -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
list(APPEND hide -DCMAKE_IGNORE_PATH=/usr/include)

# Only a compiler: the core and what needs nothing else.
configure(${SOURCE} ${hide} -DDELTABLOOM_TESTS=AUTO -DDELTABLOOM_DB_BENCH_EXT=AUTO)
expect_result(success)
expect("the core .......................................... yes")
expect("filters shared with other languages and threads ... yes")
expect("the RocksDB policy and its plugin ................. no: needs RocksDB from 7.0.3 on (librocksdb-dev)")
expect("the LevelDB policy ................................ no: needs LevelDB (libleveldb-dev)")
expect("shared filters in Redis ........................... no: needs pkg-config (pkg-config)")
expect("the command deltabloom ............................ no: needs CLI11 (libcli11-dev), nlohmann-json (nlohmann-json3-dev)")
expect("measuring programs ................................ no: needs DELTABLOOM_ROCKSDB")
expect("tests ............................................. no: needs GoogleTest (libgtest-dev)")

# A part that is ON and cannot be built is an error.
configure(${SOURCE} ${hide} -DDELTABLOOM_ROCKSDB=ON)
expect_result(failure)
expect("DELTABLOOM_ROCKSDB (the RocksDB policy and its plugin) needs RocksDB from 7.0.3 on (librocksdb-dev): install it")
configure(${SOURCE} ${hide} -DDELTABLOOM_REDIS=ON -DDELTABLOOM_SHARED_FILTERS=OFF)
expect_result(failure)
expect("DELTABLOOM_REDIS (shared filters in Redis) needs DELTABLOOM_SHARED_FILTERS")

# What is switched off is off.
configure(${SOURCE} -DDELTABLOOM_TOOLS=OFF)
expect_result(success)
expect("the command deltabloom ............................ no: DELTABLOOM_TOOLS=OFF")
expect("measuring programs ................................ no: DELTABLOOM_DB_BENCH_EXT=OFF")
expect("tests ............................................. no: DELTABLOOM_TESTS=OFF")

# In another project's build.
set(parent ${SOURCE}/tests/install/parent -DDELTABLOOM=${SOURCE})
configure(${parent} "-DCOMPONENTS=deltabloom::core;deltabloom::shared")
expect_result(success)
configure(${parent} -DCOMPONENTS=deltabloom::rocksdb)
expect_result(failure)
expect("deltabloom::rocksdb::is_off::set_DELTABLOOM_ROCKSDB_to_ON_before_adding_deltabloom")
if(ROCKSDB)
  configure(${parent} -DCOMPONENTS=deltabloom::rocksdb -DDELTABLOOM_ROCKSDB=ON)
  expect_result(success)
  expect("RocksDB::rocksdb-shared from its CMake package")

  # RocksDB as a part of that build, and installed in other ways.
  foreach(kind rocksdb rocksdb-shared)
    configure(${parent} -DCOMPONENTS=deltabloom::rocksdb -DDELTABLOOM_ROCKSDB=ON
      -DROCKSDB_OF_THIS_BUILD=${kind})
    expect_result(success)
    expect(": ${kind} from this build")
  endforeach()
  configure(${SOURCE} -DDELTABLOOM_ROCKSDB_STATIC=ON)
  expect_result(success)
  expect(": RocksDB::rocksdb from its CMake package")
  configure(${SOURCE} -DDELTABLOOM_ROCKSDB_STATIC=ON -DDELTABLOOM_ROCKSDB=ON -DBUILD_SHARED_LIBS=ON)
  expect_result(failure)
  expect("needs a shared RocksDB, or BUILD_SHARED_LIBS=OFF")
  configure(${SOURCE} -DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON)
  expect_result(success)
  expect(": RocksDB::rocksdb-shared from pkg-config")
  configure(${SOURCE} -DDELTABLOOM_ROCKSDB_PREFIX=/usr)
  expect_result(success)
  expect(": RocksDB::rocksdb-shared from DELTABLOOM_ROCKSDB_PREFIX")
  configure(${SOURCE} -DDELTABLOOM_ROCKSDB_PREFIX=${SOURCE}/docs)
  expect_result(failure)
  expect("it must hold include/rocksdb/version.h and lib/librocksdb.so or lib/librocksdb.a")
endif()
