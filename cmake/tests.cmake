# Functions that declare tests, for tests/ and shared_filters/tests/.

# Folders of tests add these options.
set(deltabloom_test_options "")
if(DELTABLOOM_FAST_BUILD)
  set(deltabloom_test_options ${deltabloom_program_options} -O1)
endif()

# Every test has one of the labels
#   unit     the core, which is what script/test --core runs, and shared filters
#   engine   needs RocksDB, LevelDB or another server
#   program  runs our programs
# from the variable deltabloom_label, and may have others: threads (for
# ThreadSanitizer), plain-only (not for sanitizers), rocksdb (for any RocksDB).
#
# COST is about how many seconds a test takes; the longest are started first.
function(deltabloom_add_test name)
  # Takes arguments that are lists as they are.
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;COST;LABELS")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${deltabloom_label};${arg_LABELS}")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# Only the sources that read known answers depend on where the tree is.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tests/test_data.h
  CONTENT "#define DELTABLOOM_TEST_DATA \"${PROJECT_SOURCE_DIR}/tests/data\"\n")

# A test program of one suite. Tests may use internal headers: they link the
# layers' objects, not the installed libraries. HEADERS names precompiled headers.
function(deltabloom_test name)
  cmake_parse_arguments(arg "" "COST;HEADERS" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES}
    $<TARGET_OBJECTS:deltabloom_util> $<TARGET_OBJECTS:deltabloom_table>)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE
    deltabloom_build_flags GTest::gtest_main ${arg_LIBRARIES})
  if(deltabloom_label STREQUAL "unit" AND NOT arg_HEADERS)
    set(arg_HEADERS deltabloom_test_headers)
  else()
    # These take longer to compile than to run. What they test is optimised.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  deltabloom_use_headers("${arg_HEADERS}" ${name})
  deltabloom_add_test(${name} COMMAND ${name} COST ${arg_COST} LABELS ${arg_LABELS})
endfunction()

set(test_headers <gtest/gtest.h> <algorithm> <chrono> <filesystem> <fstream>
  <functional> <map> <memory> <optional> <set> <sstream> <thread> <vector>)
deltabloom_headers(deltabloom_test_headers
  OPTIONS ${deltabloom_test_options}
  HEADERS ${test_headers}
  LIBRARIES GTest::gtest_main)
# Tests are compiled without RTTI, like the engine, from whose classes they
# derive.
if(DELTABLOOM_ROCKSDB)
  set(json_header $<$<BOOL:${DELTABLOOM_TOOLS}>:<nlohmann/json.hpp$<ANGLE-R>>)
  deltabloom_headers(deltabloom_rocksdb_test_headers
    OPTIONS -O0 -fno-rtti
    HEADERS ${test_headers} <rocksdb/convenience.h> <rocksdb/db.h>
      <rocksdb/filter_policy.h> <rocksdb/metadata.h> <rocksdb/slice_transform.h>
      <rocksdb/sst_file_writer.h> <rocksdb/statistics.h> <rocksdb/table.h>
      <rocksdb/utilities/options_util.h> ${json_header}
    LIBRARIES GTest::gtest_main RocksDB::rocksdb-shared)
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# A libFuzzer harness, of the source <name>.cc and the folder corpus/<name>: see
# tests/fuzz/CMakeLists.txt.
#
# LAYERS and LIBRARIES name what else a harness looks into, SOURCES its other
# files, OPTIONS those of the compiler, LABEL that of the test if not unit.
function(deltabloom_fuzz name)
  cmake_parse_arguments(arg "" "LABEL" "LAYERS;LIBRARIES;SOURCES;OPTIONS" ${ARGN})
  if(arg_LABEL)
    set(deltabloom_label ${arg_LABEL})
  endif()
  set(objects)
  foreach(layer deltabloom_util deltabloom_table ${arg_LAYERS})
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set(targets ${name}_replay)
  add_executable(${name}_replay ${name}.cc ${arg_SOURCES} ${objects}
    $<TARGET_OBJECTS:deltabloom_fuzz_replay>)
  deltabloom_add_test(${name}_replay
    COMMAND ${name}_replay ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  if(DELTABLOOM_FUZZ)
    list(APPEND targets ${name})
    add_executable(${name} ${name}.cc ${arg_SOURCES} ${objects})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY deltabloom_fuzzers ${name})
  endif()
  foreach(target ${targets})
    target_include_directories(${target} PRIVATE
      ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(${target} PRIVATE ${arg_OPTIONS})
    target_link_libraries(${target} PRIVATE deltabloom_build_flags ${arg_LIBRARIES})
  endforeach()
endfunction()
