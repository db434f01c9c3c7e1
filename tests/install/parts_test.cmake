# Which parts are built where a dependency is missing, and the messages about
# it. Packages are hidden from CMake; nothing is compiled.
cmake_minimum_required(VERSION 3.22)

# Configures `source` with `ARGN`, which has to end in `wanted`: success or
# failure. Gives its output.
function(configure wanted source)
  file(REMOVE_RECURSE ${WORK})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${WORK} -G Ninja
      -DCMAKE_CXX_COMPILER=${CXX} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if((wanted STREQUAL "success" AND NOT result EQUAL 0) OR
     (wanted STREQUAL "failure" AND result EQUAL 0))
    message(FATAL_ERROR "configuring was no ${wanted}: ${output}")
  endif()
  # CMake folds the lines of an error.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(output "${output}" PARENT_SCOPE)
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

# With only a compiler, the core is built, and all that needs nothing else.
configure(success ${SOURCE} ${hide} -DDELTABLOOM_TESTS=AUTO -DDELTABLOOM_DB_BENCH_EXT=AUTO)
expect("the core .......................................... yes")
expect("filters shared with other languages and threads ... yes")
expect("the RocksDB policy and its plugin ................. no: needs RocksDB from 7.0.3 on (librocksdb-dev)")
expect("the LevelDB policy ................................ no: needs LevelDB (libleveldb-dev)")
expect("shared filters in Redis ........................... no: needs pkg-config (pkg-config)")
expect("the command deltabloom ............................ no: needs CLI11 (libcli11-dev), nlohmann-json (nlohmann-json3-dev)")
expect("the command deltabloom-shared ..................... no: needs DELTABLOOM_REDIS")
expect("measuring programs ................................ no: needs DELTABLOOM_ROCKSDB")
expect("tests ............................................. no: needs GoogleTest (libgtest-dev)")

# A part that is ON and cannot be built is an error.
configure(failure ${SOURCE} ${hide} -DDELTABLOOM_ROCKSDB=ON)
expect("DELTABLOOM_ROCKSDB (the RocksDB policy and its plugin) needs RocksDB from 7.0.3 on (librocksdb-dev): install it")
configure(failure ${SOURCE} ${hide} -DDELTABLOOM_REDIS=ON -DDELTABLOOM_SHARED_FILTERS=OFF)
expect("DELTABLOOM_REDIS (shared filters in Redis) needs DELTABLOOM_SHARED_FILTERS")

# A part that is switched off is not built.
configure(success ${SOURCE} -DDELTABLOOM_TOOLS=OFF)
expect("the command deltabloom ............................ no: DELTABLOOM_TOOLS=OFF")
expect("measuring programs ................................ no: DELTABLOOM_DB_BENCH_EXT=OFF")
expect("tests ............................................. no: DELTABLOOM_TESTS=OFF")

# shared_filters builds alone, without the other parts.
configure(success ${SOURCE}/shared_filters)
expect("filters shared with other languages and threads ... yes")
expect("the RocksDB policy and its plugin ................. no: DELTABLOOM_ROCKSDB=OFF")
expect("the command deltabloom ............................ no: DELTABLOOM_TOOLS=OFF")

# Deltabloom is a part of another project's build.
set(parent ${SOURCE}/tests/install/parent -DDELTABLOOM=${SOURCE})
configure(success ${parent} "-DCOMPONENTS=deltabloom::core;deltabloom::shared")
configure(failure ${parent} -DCOMPONENTS=deltabloom::rocksdb)
expect("deltabloom::rocksdb::is_off::set_DELTABLOOM_ROCKSDB_to_ON_before_adding_deltabloom")
if(ROCKSDB)
  configure(success ${parent} -DCOMPONENTS=deltabloom::rocksdb -DDELTABLOOM_ROCKSDB=ON)
  expect("RocksDB::rocksdb-shared from its CMake package")

  # RocksDB as a part of that build, and installed in other ways.
  foreach(kind rocksdb rocksdb-shared)
    configure(success ${parent} -DCOMPONENTS=deltabloom::rocksdb -DDELTABLOOM_ROCKSDB=ON
      -DROCKSDB_OF_THIS_BUILD=${kind})
    expect(": ${kind} from this build")
  endforeach()
  configure(success ${SOURCE} -DDELTABLOOM_ROCKSDB_STATIC=ON)
  expect(": RocksDB::rocksdb from its CMake package")
  configure(failure ${SOURCE} -DDELTABLOOM_ROCKSDB_STATIC=ON -DDELTABLOOM_ROCKSDB=ON -DBUILD_SHARED_LIBS=ON)
  expect("needs a shared RocksDB, or BUILD_SHARED_LIBS=OFF")
  configure(success ${SOURCE} -DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON -DCMAKE_INSTALL_LIBDIR=/opt/lib)
  expect(": RocksDB::rocksdb-shared from pkg-config")
  file(READ ${WORK}/build.ninja output)
  expect("PLUGIN_FROM_BIN=\\\"/opt/lib\\\"")
  configure(success ${SOURCE} -DDELTABLOOM_ROCKSDB_PREFIX=/usr)
  expect(": RocksDB::rocksdb-shared from DELTABLOOM_ROCKSDB_PREFIX")
  # A static library as RocksDB's make installs it: pkg-config knows what it needs.
  set(prefix ${WORK}_rocksdb)
  file(MAKE_DIRECTORY ${prefix}/include ${prefix}/lib/pkgconfig)
  file(CREATE_LINK /usr/include/rocksdb ${prefix}/include/rocksdb SYMBOLIC)
  file(TOUCH ${prefix}/lib/librocksdb.a)
  file(WRITE ${prefix}/lib/pkgconfig/rocksdb.pc "Name: rocksdb\nDescription: x\nVersion: 7\n"
    "Libs: -L${prefix}/lib -lrocksdb\nLibs.private: -lsnappy -lzstd\nCflags: -I${prefix}/include\n")
  configure(success ${SOURCE} -DDELTABLOOM_ROCKSDB_STATIC=ON -DDELTABLOOM_ROCKSDB_PREFIX=${prefix})
  expect(": RocksDB::rocksdb from pkg-config")
  file(READ ${WORK}/deltabloom-rocksdb.pc output)
  expect("-ldeltabloom_rocksdb ${prefix}/lib/librocksdb.a -lsnappy -lzstd ")
  configure(failure ${SOURCE} -DDELTABLOOM_ROCKSDB_PREFIX=${SOURCE}/docs)
  expect("it must hold include/rocksdb/version.h and lib/librocksdb.so or lib/librocksdb.a")
endif()
