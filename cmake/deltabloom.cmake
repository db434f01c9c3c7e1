# Settings that all targets of Deltabloom share (warnings, sanitizers), and the
# functions that declare targets.

add_library(deltabloom_build_flags INTERFACE)
target_compile_options(deltabloom_build_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion
  $<$<BOOL:${DELTABLOOM_WERROR}>:-Werror>)
# clang checks which mutex is held (util/mutex.h).
target_compile_options(deltabloom_build_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wthread-safety>)
# Assertions are for builds with sanitizers, whatever the type of the build.
if(NOT DELTABLOOM_SANITIZE)
  target_compile_options(deltabloom_build_flags INTERFACE -DNDEBUG)
else()
  target_compile_options(deltabloom_build_flags INTERFACE -UNDEBUG
    -fsanitize=${DELTABLOOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # The RocksDB engine has no RTTI, which is what this check looks at.
    -fno-sanitize=vptr)
  target_link_options(deltabloom_build_flags INTERFACE -fsanitize=${DELTABLOOM_SANITIZE})
endif()
if(DELTABLOOM_FUZZ)
  # Coverage for the fuzzer; only its own programs link its main().
  target_compile_options(deltabloom_build_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(deltabloom_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# DELTABLOOM_COVERAGE counts which lines of a target's code run. The code of
# tests is not counted.
if(DELTABLOOM_COVERAGE)
  target_link_options(deltabloom_build_flags INTERFACE --coverage)
endif()
function(deltabloom_count_lines name)
  if(DELTABLOOM_COVERAGE)
    target_compile_options(${name} PRIVATE -O1 --coverage -fprofile-update=atomic)
  endif()
endfunction()

# Precompiled headers of tests, whose builds compile everything. gcc reads the
# headers themselves where a target has other options; clang would fail, and ccache
# keeps nothing that is compiled with them. Programs have none: with those of CLI11
# and nlohmann-json, sources that use neither take some 2 s longer, as gcc
# instantiates the templates of these headers for each source.
#
# deltabloom_headers(<name> HEADERS <header>... [OPTIONS <option>...]
#                    [LIBRARIES <target>...]) declares them,
# deltabloom_use_headers(<name> <target>) uses them where they are declared.
function(deltabloom_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;OPTIONS;LIBRARIES" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nothing.cc CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/nothing.cc)
  # Precompiled headers must have the options of the programs that use them.
  target_compile_options(${name} PRIVATE -fPIE ${arg_OPTIONS})
  target_link_libraries(${name} PRIVATE deltabloom_build_flags ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
function(deltabloom_use_headers name target)
  if(TARGET "${name}")
    target_compile_options(${target} PRIVATE -fPIE)
    target_precompile_headers(${target} REUSE_FROM ${name})
    set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
  endif()
endfunction()

# A layer: object files that the libraries above it are made of. Includes are
# written from the top of the tree.
function(deltabloom_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LAYERS" ${ARGN})
  add_library(${name} OBJECT ${arg_SOURCES})
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE deltabloom_build_flags)
  deltabloom_count_lines(${name})
  foreach(layer ${arg_LAYERS})
    target_include_directories(${name} PUBLIC
      $<TARGET_PROPERTY:${layer},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()

# A library that users link: an alias deltabloom::<component>, a SONAME when
# shared, and only the public headers to include. INCLUDE is a second folder of
# those, beside the core's. EXPORTS names the version script that says what a
# shared one exports; default is all of our own.
function(deltabloom_library name component)
  cmake_parse_arguments(arg "" "EXPORTS;INCLUDE" "SOURCES;LAYERS" ${ARGN})
  set(objects)
  foreach(layer ${arg_LAYERS})
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  endforeach()
  add_library(${name} ${arg_SOURCES} ${objects})
  add_library(deltabloom::${component} ALIAS ${name})
  target_include_directories(${name}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include;${arg_INCLUDE}>"
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:deltabloom_build_flags>)
  set_target_properties(${name} PROPERTIES
    EXPORT_NAME ${component}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(NOT arg_EXPORTS)
    set(arg_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  endif()
  if(BUILD_SHARED_LIBS)
    target_link_options(${name} PRIVATE -Wl,--version-script=${arg_EXPORTS})
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${arg_EXPORTS})
  endif()
  # The package of development has both kinds.
  if(DELTABLOOM_PACKAGES AND BUILD_SHARED_LIBS)
    add_library(${name}_archive STATIC $<TARGET_OBJECTS:${name}> ${objects})
    set_target_properties(${name}_archive PROPERTIES
      OUTPUT_NAME ${name} LINKER_LANGUAGE CXX)
  endif()
endfunction()
