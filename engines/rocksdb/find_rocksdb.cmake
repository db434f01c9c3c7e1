# Finds RocksDB and sets deltabloom_rocksdb to the target to link. In this order:
#   DELTABLOOM_ROCKSDB_HEADERS: headers alone, for a module
#   a target of this build, where RocksDB is part of it
#   DELTABLOOM_ROCKSDB_PREFIX: what is installed there, and nothing else
#   RocksDB's CMake package, as RocksDB and vcpkg install it
#   pkg-config
# Of a shared and a static library it takes the shared one, unless
# DELTABLOOM_ROCKSDB_STATIC is ON. What links it is compiled with the C++ standard
# that its headers need. The installed package includes this file, too.
set(deltabloom_rocksdb "")
set(deltabloom_rocksdb_kinds rocksdb-shared rocksdb)
if(DELTABLOOM_ROCKSDB_STATIC)
  set(deltabloom_rocksdb_kinds rocksdb)
endif()

# Sets deltabloom_rocksdb to the first of `ARGN` with each kind appended that is
# a target.
macro(deltabloom_take_rocksdb found_in)
  foreach(deltabloom_kind ${deltabloom_rocksdb_kinds})
    foreach(deltabloom_namespace ${ARGN})
      string(REPLACE "<kind>" ${deltabloom_kind} deltabloom_name ${deltabloom_namespace})
      if(NOT deltabloom_rocksdb AND TARGET ${deltabloom_name})
        set(deltabloom_rocksdb ${deltabloom_name})
        set(deltabloom_rocksdb_from "${found_in}")
      endif()
    endforeach()
  endforeach()
endmacro()

if(DELTABLOOM_ROCKSDB_HEADERS)
  unset(deltabloom_rocksdb_headers)
  find_path(deltabloom_rocksdb_headers rocksdb/version.h NO_CACHE NO_DEFAULT_PATH
    PATHS ${DELTABLOOM_ROCKSDB_HEADERS} PATH_SUFFIXES include rocksdb/include)
  if(NOT deltabloom_rocksdb_headers)
    message(FATAL_ERROR "No rocksdb/version.h in DELTABLOOM_ROCKSDB_HEADERS="
      "${DELTABLOOM_ROCKSDB_HEADERS}, nor in include/ or rocksdb/include/ there")
  endif()
  if(NOT TARGET RocksDB::headers)
    add_library(RocksDB::headers INTERFACE IMPORTED GLOBAL)
    set_target_properties(RocksDB::headers PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES ${deltabloom_rocksdb_headers})
  endif()
  deltabloom_take_rocksdb("DELTABLOOM_ROCKSDB_HEADERS" RocksDB::headers)
endif()
deltabloom_take_rocksdb("this build" <kind> RocksDB::<kind>)
if(NOT deltabloom_rocksdb)
  set(deltabloom_rocksdb_where "")
  set(deltabloom_rocksdb_place "its CMake package")
  if(DELTABLOOM_ROCKSDB_PREFIX)
    set(deltabloom_rocksdb_where PATHS ${DELTABLOOM_ROCKSDB_PREFIX} NO_DEFAULT_PATH)
    set(deltabloom_rocksdb_place "DELTABLOOM_ROCKSDB_PREFIX")
    unset(RocksDB_DIR CACHE)
  endif()
  find_package(RocksDB CONFIG QUIET ${deltabloom_rocksdb_where})
  deltabloom_take_rocksdb("${deltabloom_rocksdb_place}" RocksDB::<kind>)
  # All targets become global, or another find_package(RocksDB) would find half
  # of a set.
  foreach(deltabloom_name RocksDB::rocksdb RocksDB::rocksdb-shared)
    if(TARGET ${deltabloom_name})
      set_target_properties(${deltabloom_name} PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endforeach()
endif()

# If there is no CMake package, headers and library are searched, and pkg-config
# says what a static library needs.
if(NOT deltabloom_rocksdb)
  set(deltabloom_saved_path "$ENV{PKG_CONFIG_PATH}")
  if(DELTABLOOM_ROCKSDB_PREFIX)
    set(deltabloom_rocksdb_where NO_DEFAULT_PATH PATHS ${DELTABLOOM_ROCKSDB_PREFIX})
    set(ENV{PKG_CONFIG_PATH} ${DELTABLOOM_ROCKSDB_PREFIX}/lib/pkgconfig)
  endif()
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(deltabloom_pc QUIET rocksdb)
  endif()
  set(ENV{PKG_CONFIG_PATH} "${deltabloom_saved_path}")
  if(NOT DELTABLOOM_ROCKSDB_PREFIX)
    set(deltabloom_rocksdb_where HINTS ${deltabloom_pc_INCLUDE_DIRS} ${deltabloom_pc_LIBRARY_DIRS})
  endif()
  if(deltabloom_pc_FOUND OR DELTABLOOM_ROCKSDB_PREFIX)
    find_path(deltabloom_rocksdb_headers rocksdb/version.h NO_CACHE
      ${deltabloom_rocksdb_where} PATH_SUFFIXES include)
    foreach(deltabloom_kind ${deltabloom_rocksdb_kinds})
      set(deltabloom_type SHARED)
      if(deltabloom_kind STREQUAL "rocksdb")
        set(deltabloom_type STATIC)
      endif()
      unset(deltabloom_rocksdb_library)
      find_library(deltabloom_rocksdb_library NO_CACHE
        NAMES librocksdb${CMAKE_${deltabloom_type}_LIBRARY_SUFFIX}
        ${deltabloom_rocksdb_where} PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
      if(deltabloom_rocksdb_headers AND deltabloom_rocksdb_library
         AND NOT TARGET RocksDB::${deltabloom_kind})
        add_library(RocksDB::${deltabloom_kind} ${deltabloom_type} IMPORTED GLOBAL)
        set_target_properties(RocksDB::${deltabloom_kind} PROPERTIES
          IMPORTED_LOCATION ${deltabloom_rocksdb_library}
          INTERFACE_INCLUDE_DIRECTORIES ${deltabloom_rocksdb_headers})
        if(deltabloom_type STREQUAL "STATIC")
          list(REMOVE_ITEM deltabloom_pc_STATIC_LIBRARIES rocksdb)
          target_link_directories(RocksDB::rocksdb INTERFACE ${deltabloom_pc_STATIC_LIBRARY_DIRS})
          target_link_libraries(RocksDB::rocksdb INTERFACE
            ${deltabloom_pc_STATIC_LIBRARIES} ${CMAKE_DL_LIBS} pthread)
        endif()
      endif()
    endforeach()
    deltabloom_take_rocksdb(pkg-config RocksDB::<kind>)
  endif()
  if(DELTABLOOM_ROCKSDB_PREFIX AND NOT deltabloom_rocksdb)
    message(FATAL_ERROR "No RocksDB in DELTABLOOM_ROCKSDB_PREFIX="
      "${DELTABLOOM_ROCKSDB_PREFIX}: it must hold include/rocksdb/version.h and "
      "lib/librocksdb.so or lib/librocksdb.a")
  endif()
endif()
if(NOT deltabloom_rocksdb)
  return()
endif()

get_target_property(deltabloom_rocksdb_type ${deltabloom_rocksdb} TYPE)
get_target_property(deltabloom_rocksdb_imported ${deltabloom_rocksdb} IMPORTED)
if(deltabloom_rocksdb_imported)
  get_target_property(deltabloom_rocksdb_include ${deltabloom_rocksdb}
    INTERFACE_INCLUDE_DIRECTORIES)
  # Conan's are in generator expressions.
  string(REGEX MATCHALL "/[^;:>]+" deltabloom_rocksdb_include "${deltabloom_rocksdb_include}")
else()
  get_target_property(deltabloom_rocksdb_include ${deltabloom_rocksdb} SOURCE_DIR)
  string(APPEND deltabloom_rocksdb_include /include)
endif()
unset(deltabloom_rocksdb_header)
find_file(deltabloom_rocksdb_header rocksdb/version.h NO_CACHE
  NO_DEFAULT_PATH PATHS ${deltabloom_rocksdb_include} /usr/include)
file(STRINGS ${deltabloom_rocksdb_header}
  deltabloom_rocksdb_version REGEX "define ROCKSDB_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM deltabloom_rocksdb_version REPLACE "[^0-9]*([0-9]+).*" "\\1")
string(REPLACE ";" "." deltabloom_rocksdb_version "${deltabloom_rocksdb_version}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" deltabloom_rocksdb_minor ${deltabloom_rocksdb_version})
if(DELTABLOOM_ROCKSDB_UNTESTED)
  target_compile_definitions(${deltabloom_rocksdb} INTERFACE DELTABLOOM_ROCKSDB_UNTESTED)
endif()
# RocksDB itself is built as C++20 from this version on.
if(deltabloom_rocksdb_version VERSION_GREATER_EQUAL 10.7)
  target_compile_features(${deltabloom_rocksdb} INTERFACE cxx_std_20)
  # gcc 12 warns of its own strings in C++20 (gcc bug 105651).
  target_compile_options(${deltabloom_rocksdb} INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
endif()
