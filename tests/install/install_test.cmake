# Builds and installs Deltabloom into fresh prefixes, first with static
# libraries, then with shared ones, of the same object files;
# builds and runs the consumer project from each, through find_package and
# through pkg-config, and looks at what the shared libraries export.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(components core shared)
foreach(engine REDIS ROCKSDB LEVELDB)
  if(${engine})
    string(TOLOWER ${engine} component)
    list(APPEND components ${component})
  endif()
endforeach()

find_program(CC NAMES cc gcc clang REQUIRED)

# The prefix is named to `cmake --install` alone, and has a blank in its path.
function(install kind)
  set(prefix "${WORK}/in a prefix/${kind}")
  string(COMPARE EQUAL ${kind} shared shared)
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER=${CXX}
    -DDELTABLOOM_FAST_BUILD=${FAST_BUILD}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${WORK}/compile -DBUILD_SHARED_LIBS=${shared}
    -DCMAKE_INSTALL_LIBDIR=lib -DDELTABLOOM_TESTS=OFF -DDELTABLOOM_EXAMPLES=OFF
    -DDELTABLOOM_DB_BENCH_EXT=OFF -DDELTABLOOM_TOOLS=OFF -DDELTABLOOM_SHARED_TOOLS=${SHARED_TOOLS}
    -DDELTABLOOM_ROCKSDB=${ROCKSDB} -DDELTABLOOM_LEVELDB=${LEVELDB}
    -DDELTABLOOM_REDIS=${REDIS} -DDELTABLOOM_ROCKSDB_STATIC=OFF ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${prefix})
endfunction()

# Each public header is installed and needs no other that is not; all of them
# compile without exceptions and RTTI.
function(check_headers prefix)
  file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/deltabloom/*.h)
  list(LENGTH headers count)
  if(count LESS 3)
    message(FATAL_ERROR "headers missing: ${headers}")
  endif()
  set(compile ${CXX} -std=c++17 -Wall -Wextra -Werror -I${prefix}/include -fsyntax-only)
  set(all "")
  foreach(header ${headers})
    file(WRITE ${WORK}/header.cc "#include \"${header}\"\n")
    run(${compile} ${WORK}/header.cc)
    string(APPEND all "#include \"${header}\"\n")
  endforeach()
  file(WRITE ${WORK}/header.cc "${all}")
  run(${compile} -fno-exceptions -fno-rtti ${WORK}/header.cc)
  file(WRITE ${WORK}/header.c "#include \"deltabloom/c.h\"\n")
  if(EXISTS ${prefix}/include/deltabloom/load.h)
    file(APPEND ${WORK}/header.c "#include \"deltabloom/load.h\"\n")
  endif()
  run(${CXX} -x c -std=c99 -Wall -Wextra -Wpedantic -Werror -I${prefix}/include
    -fsyntax-only ${WORK}/header.c)
endfunction()

# Configuring the consumer project with a component that is not installed fails
# with this text.
function(expect_refused build component text)
  execute_process(COMMAND ${CMAKE_COMMAND} ${build} -DCOMPONENTS=${component}
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${text}" at)
  if(result EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "component ${component}, wanted '${text}': ${output}")
  endif()
endfunction()

function(check_consumers kind)
  set(prefix "${WORK}/in a prefix/${kind}")
  string(REPLACE ";" "," comma_components "${components}")
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${WORK}/consumer_${kind}
    -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix}
    -DCOMPONENTS=${comma_components})
  run(${CMAKE_COMMAND} --build ${WORK}/consumer_${kind})
  expect_refused(${WORK}/consumer_${kind} rocksdbb
    "There is no component rocksdbb: use core, shared, redis, rocksdb or leveldb")
  foreach(component ${components})
    run(${WORK}/consumer_${kind}/use_${component})
    message(STATUS "${kind}, find_package, ${component}: ${output}")

    set(package deltabloom-${component})
    if(component STREQUAL core)
      set(package deltabloom)
    endif()
    set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig)
    run(pkg-config --cflags --libs ${package})
    # Go refuses paths of libraries with a version.
    if(output MATCHES "\\.so")
      message(FATAL_ERROR "${package}.pc names a library's path: ${output}")
    endif()
    separate_arguments(flags UNIX_COMMAND "${output}")
    # The program has neither exceptions nor RTTI.
    string(TOUPPER ${component} macro)
    run(${CXX} -std=c++17 -fno-exceptions -fno-rtti -D${macro}
      ${SOURCE}/tests/install/consumer/use.cc
      -o ${WORK}/pkg_${kind}_${component} ${flags} -Wl,-rpath,${prefix}/lib)
    run(${WORK}/pkg_${kind}_${component})
    message(STATUS "${kind}, pkg-config, ${component}: ${output}")
  endforeach()
endfunction()

# A project whose only language is C links, or is told what to do.
function(check_c_project kind)
  set(prefix "${WORK}/in a prefix/${kind}")
  set(program_of_core ${SOURCE}/tests/install/consumer/use.c)
  set(program_of_rocksdb ${SOURCE}/tests/c/rocksdb.c)
  foreach(component core rocksdb)
    if(NOT component IN_LIST components)
      continue()
    endif()
    set(build ${WORK}/consumer_c_${kind}_${component})
    run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${build} -G Ninja
      -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${prefix} -DLANGUAGE=C
      -DCOMPONENTS=${component} -DPROGRAM=${program_of_${component}})
    run(${CMAKE_COMMAND} --build ${build})
    file(MAKE_DIRECTORY ${build}/folder)
    run(${CMAKE_COMMAND} -E chdir ${build}/folder ${build}/use_${component})
    message(STATUS "${kind}, a project in C, ${component}: ${output}")
  endforeach()
  file(WRITE ${WORK}/in_function/CMakeLists.txt
    "cmake_minimum_required(VERSION 3.22)\nproject(consumer C)\n"
    "function(find)\n  find_package(deltabloom REQUIRED)\nendfunction()\nfind()\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/in_function -B ${WORK}/in_function/build
      -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output)
  if(result EQUAL 0 OR NOT output MATCHES "add CXX to the languages")
    message(FATAL_ERROR "find_package in a function, without CXX: ${output}")
  endif()
endfunction()

# The libraries export names of Deltabloom alone, and the functions of
# deltabloom/c.h each in one of them.
function(check_exports prefix)
  set(exported)
  file(GLOB libraries ${prefix}/lib/libdeltabloom*.so)
  list(FILTER libraries EXCLUDE REGEX "_plugin|_replace_bloom")
  foreach(library ${libraries})
    run(readelf -d ${library})
    if(NOT output MATCHES "SONAME[^\n]*\\.so\\.([0-9.]+-)?[0-9]+\\.[0-9]+\\]")
      message(FATAL_ERROR "${library} has no versioned SONAME:\n${output}")
    endif()
    if(library MATCHES "_rocksdb" AND NOT output MATCHES "NODELETE")
      message(FATAL_ERROR "${library} may be unloaded, but stays registered:\n${output}")
    endif()
    run(nm -DC --defined-only ${library})
    string(REGEX MATCHALL "[^\n]+" symbols "${output}")
    foreach(symbol ${symbols})
      if(NOT symbol MATCHES
         "^[0-9a-f]+ [TVWBDRu] (vtable for |typeinfo for |typeinfo name for )?deltabloom"
         OR symbol MATCHES "deltabloom::internal")
        message(FATAL_ERROR "${library} exports a foreign or an internal name: ${symbol}")
      endif()
      if(symbol MATCHES " T (deltabloom_[a-z_]+)$")
        list(APPEND exported ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
  file(READ ${prefix}/include/deltabloom/c.h header)
  string(REGEX MATCHALL "deltabloom_[a-z_]+\\(" declared "${header}")
  list(TRANSFORM declared REPLACE "\\(" "")
  list(REMOVE_DUPLICATES declared)
  if(NOT "rocksdb" IN_LIST components)
    list(FILTER declared EXCLUDE REGEX "^deltabloom_rocksdb_")
  endif()
  list(SORT declared)
  list(SORT exported)
  if(NOT declared STREQUAL exported)
    message(FATAL_ERROR "c.h declares ${declared}\nexported are ${exported}")
  endif()
endfunction()

# The plugin exports the functions of deltabloom/load.h and what a program calls;
# a module exports its functions. Neither needs a librocksdb.
function(check_plugin prefix)
  file(READ ${prefix}/include/deltabloom/load.h header)
  string(REGEX MATCHALL "deltabloom_load[a-z_]*\\(" expected "${header}")
  list(TRANSFORM expected REPLACE "\\(" "")
  list(APPEND expected __libc_start_main napi_register_module_v1)
  list(SORT expected)
  check_exported(${prefix}/lib/libdeltabloom_rocksdb_plugin.so "${expected}")
  # Those that the other library for LD_PRELOAD replaces, of RocksDB and LevelDB.
  set(expected _ZN7leveldb20NewBloomFilterPolicyEi _ZN7rocksdb20NewBloomFilterPolicyEdb
    _ZN7rocksdb21NewRibbonFilterPolicyEdi __libc_start_main)
  check_exported(${prefix}/lib/libdeltabloom_replace_bloom.so "${expected}")
  if(EXISTS ${prefix}/include/deltabloom/leveldb.h)
    check_exported(${prefix}/lib/deltabloom/leveldb.so deltabloom_leveldb_policy)
  endif()
  file(GLOB modules ${prefix}/lib/deltabloom/rocksdb-*-cxx11abi1.so)
  list(LENGTH modules count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "the modules in ${prefix}/lib/deltabloom are '${modules}'")
  endif()
  check_exported(${modules} deltabloom_rocksdb_module)
  run(readelf -d ${modules})
  if(NOT output MATCHES "RUNPATH[^\n]*\\[\\$ORIGIN\\]" OR NOT output MATCHES "NODELETE")
    message(FATAL_ERROR "${modules} is not made for the loader:\n${output}")
  endif()
endfunction()

function(check_exported file expected)
  run(nm -D --defined-only ${file})
  string(REGEX MATCHALL "[A-Za-z_0-9]+(\n|$)" exported "${output}")
  list(TRANSFORM exported STRIP)
  list(SORT exported)
  run(readelf -d ${file})
  if(NOT exported STREQUAL expected OR output MATCHES "NEEDED[^\n]*lib(rocksdb|leveldb)")
    message(FATAL_ERROR "${file} exports '${exported}', not '${expected}', or needs an engine:\n${output}")
  endif()
endfunction()

# README's program with a RocksDB that is linked in, by pkg-config and by
# find_package: it writes tables with filters.
function(check_static_rocksdb)
  install(static_rocksdb -DDELTABLOOM_ROCKSDB_STATIC=ON)
  set(prefix "${WORK}/in a prefix/static_rocksdb")
  set(program ${WORK}/readme.cc)
  file(READ ${SOURCE}/README.md readme)
  string(REGEX MATCH "```cpp\n(#include <deltabloom/rocksdb.h>[^`]*)```" block "${readme}")
  file(WRITE ${program} "${CMAKE_MATCH_1}")
  set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig)
  run(pkg-config --cflags --libs deltabloom-rocksdb)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${CXX} -std=c++17 -c ${program} -o ${WORK}/readme.o ${flags})
  run(${CXX} ${WORK}/readme.o -o ${WORK}/readme_pkg-config ${flags})
  run(${CXX} -static-libstdc++ ${WORK}/readme.o -o ${WORK}/readme_static-libstdc++ ${flags})
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${WORK}/consumer_static_rocksdb
    -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix}
    -DCOMPONENTS=rocksdb -DPROGRAM=${program})
  run(${CMAKE_COMMAND} --build ${WORK}/consumer_static_rocksdb)
  file(REMOVE ${prefix}/lib/cmake/deltabloom/deltabloom-leveldb.cmake)
  expect_refused(${WORK}/consumer_static_rocksdb leveldb
    "installed without leveldb: configure it with -DDELTABLOOM_LEVELDB=ON")
  run(${CC} -std=c99 ${SOURCE}/tests/c/rocksdb.c -o ${WORK}/c_pkg-config ${flags})
  check_filters(${WORK}/readme_pkg-config ${WORK}/readme_static-libstdc++
    ${WORK}/c_pkg-config ${WORK}/consumer_static_rocksdb/use_rocksdb)
endfunction()

# Programs without a shared RocksDB and Deltabloom work; those in C++ leave tables
# with filters.
function(check_filters)
  foreach(program ${ARGN})
    run(readelf -d ${program})
    if(output MATCHES "NEEDED[^\n]*(librocksdb|libdeltabloom)")
      message(FATAL_ERROR "${program} loads a shared library:\n${output}")
    endif()
    set(folder ${program}_folder)
    file(MAKE_DIRECTORY ${folder})
    run(${CMAKE_COMMAND} -E chdir ${folder} ${program})
    if(TOOL AND NOT program MATCHES "/c_[^/]*$")
      run(${TOOL} verify ${folder}/example.db)
      run(${TOOL} inspect ${folder}/example.db)
      if(NOT output MATCHES "compact|local")
        message(FATAL_ERROR "${program} wrote no filters:\n${output}")
      endif()
    endif()
  endforeach()
  message(STATUS "a static RocksDB: ${output}")
endfunction()

file(REMOVE_RECURSE ${WORK})
# Takes the objects that the build of the tests has made.
file(WRITE ${WORK}/compile "#!/bin/sh
for object in \"$@\"; do
  case $object in *.o)
    if cp '${BUILD}/'$object $object 2>/dev/null; then
      echo $object: >$object.d
      exit
    fi
  esac
done
exec \"$@\"
")
file(CHMOD ${WORK}/compile PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
if(ROCKSDB)
  check_static_rocksdb()
endif()
foreach(kind static shared)
  install(${kind})
  check_consumers(${kind})
  check_c_project(${kind})
  if(ROCKSDB)
    check_plugin("${WORK}/in a prefix/${kind}")
  endif()
endforeach()
check_headers("${WORK}/in a prefix/shared")
check_exports("${WORK}/in a prefix/shared")

# After uninstalling, no file of the last prefix may stay.
run(${CMAKE_COMMAND} --build ${WORK}/build --target uninstall)
file(GLOB_RECURSE left "${WORK}/in a prefix/shared/*")
if(left OR EXISTS "${WORK}/in a prefix/shared/include/deltabloom")
  message(FATAL_ERROR "uninstall leaves ${left}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --target uninstall
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "Nothing was installed")
  message(FATAL_ERROR "uninstalling twice: ${output}")
endif()

# The same build makes packages. The one for development has static libraries as
# well.
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(dpkg_shlibdeps)
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DDELTABLOOM_PACKAGES=ON)
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix "${WORK}/in a prefix/shared")
  run(${PYTHON} ${SOURCE}/tests/packages/packages_test.py ${WORK}/build "${WORK}/in a prefix/shared")
  message(STATUS "packages: ${output}")
  if(ROCKSDB)
    run(pkg-config --static --cflags --libs deltabloom-rocksdb)
    string(REGEX REPLACE "-l(deltabloom_rocksdb|rocksdb) " "-l:lib\\1.a " output "${output}")
    separate_arguments(flags UNIX_COMMAND "${output}")
    run(${CC} -std=c99 ${SOURCE}/tests/c/rocksdb.c -o ${WORK}/c_package ${flags})
    check_filters(${WORK}/c_package)
  endif()
endif()
