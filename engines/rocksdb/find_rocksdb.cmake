# Defines RocksDB::rocksdb-shared, if there is one: from
# DELTABLOOM_ROCKSDB_PREFIX, or else as find_package finds it. Who links it is compiled with the C++ standard that its
# headers need.
if(DELTABLOOM_ROCKSDB_PREFIX)
  find_path(deltabloom_rocksdb_include rocksdb/version.h NO_CACHE NO_DEFAULT_PATH
    PATHS ${DELTABLOOM_ROCKSDB_PREFIX}/include)
  find_library(deltabloom_rocksdb_library NAMES librocksdb.so NO_CACHE NO_DEFAULT_PATH
    PATHS ${DELTABLOOM_ROCKSDB_PREFIX}/lib ${DELTABLOOM_ROCKSDB_PREFIX}/lib64
      ${DELTABLOOM_ROCKSDB_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT deltabloom_rocksdb_include OR NOT deltabloom_rocksdb_library)
    message(FATAL_ERROR "No RocksDB in DELTABLOOM_ROCKSDB_PREFIX="
      "${DELTABLOOM_ROCKSDB_PREFIX}: it must hold include/rocksdb/version.h and "
      "a shared lib/librocksdb.so")
  endif()
  # GLOBAL, as below.
  add_library(RocksDB::rocksdb-shared SHARED IMPORTED GLOBAL)
  set_target_properties(RocksDB::rocksdb-shared PROPERTIES
    IMPORTED_LOCATION ${deltabloom_rocksdb_library}
    INTERFACE_INCLUDE_DIRECTORIES ${deltabloom_rocksdb_include})
else()
  find_package(RocksDB CONFIG QUIET)
  if(NOT TARGET RocksDB::rocksdb-shared)
    return()
  endif()
  # All of them, or another find_package(RocksDB) would find half of a set.
  set_target_properties(RocksDB::rocksdb RocksDB::rocksdb-shared PROPERTIES
    IMPORTED_GLOBAL TRUE)
  get_target_property(deltabloom_rocksdb_include RocksDB::rocksdb-shared
    INTERFACE_INCLUDE_DIRECTORIES)
endif()

file(STRINGS ${deltabloom_rocksdb_include}/rocksdb/version.h
  deltabloom_rocksdb_version REGEX "define ROCKSDB_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM deltabloom_rocksdb_version REPLACE "[^0-9]*([0-9]+).*" "\\1")
string(REPLACE ";" "." deltabloom_rocksdb_version "${deltabloom_rocksdb_version}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" deltabloom_rocksdb_minor ${deltabloom_rocksdb_version})
# As RocksDB itself is built.
if(deltabloom_rocksdb_version VERSION_GREATER_EQUAL 10.7)
  target_compile_features(RocksDB::rocksdb-shared INTERFACE cxx_std_20)
  # In C++20 gcc 12 warns of its own strings (gcc bug 105651).
  target_compile_options(RocksDB::rocksdb-shared INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
endif()
