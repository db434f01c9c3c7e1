# cpack: Debian packages of a build with DELTABLOOM_PACKAGES=ON, one for each
# library, so that a filter for RocksDB does not install a Redis client. Packages
# for one version of RocksDB have it in their names and paths, so that those for
# two versions can be installed together. script/package runs it.

set(DELTABLOOM_PACKAGE_MAINTAINER "Local build <local-build@deltabloom.invalid>" CACHE STRING
  "Maintainer of the packages: Name <address>")
set(DELTABLOOM_PACKAGE_REVISION 1 CACHE STRING "What follows the version in that of the packages")

set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME deltabloom)
set(CPACK_PACKAGE_VENDOR Deltabloom)
set(CPACK_PACKAGE_CONTACT "${DELTABLOOM_PACKAGE_MAINTAINER}")
# Each package has its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${DELTABLOOM_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Documents, and what Debian wants beside the files of a package.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_DELTABLOOM_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_COMPONENTS_ALL)

# deltabloom_package(<component> <package> <section> <synopsis>
#                    [DEPENDS <text>] [SUGGESTS <text>] DESCRIPTION <line>...)
macro(deltabloom_package component package section synopsis)
  cmake_parse_arguments(package "" "DEPENDS;SUGGESTS" "DESCRIPTION" ${ARGN})
  string(TOUPPER deltabloom_${component} variable)
  list(APPEND CPACK_COMPONENTS_ALL deltabloom_${component})
  list(JOIN package_DESCRIPTION "\n" package_DESCRIPTION)
  set(CPACK_COMPONENT_${variable}_DESCRIPTION "${synopsis}\n${package_DESCRIPTION}")
  set(CPACK_DEBIAN_${variable}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${variable}_PACKAGE_SECTION ${section})
  if(${section} STREQUAL "libs")
    set(CPACK_DEBIAN_${variable}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
  endif()
  set(CPACK_DEBIAN_${variable}_PACKAGE_DEPENDS "${package_DEPENDS}")
  set(CPACK_DEBIAN_${variable}_PACKAGE_SUGGESTS "${package_SUGGESTS}")
endmacro()

# Dependencies of one package on another of the same build.
set(exactly "(= ${PROJECT_VERSION}-${DELTABLOOM_PACKAGE_REVISION})")
set(development_depends "libdeltabloom${abi} ${exactly}")

# A build from RocksDB's headers alone has a module and its loader only.
if(NOT DELTABLOOM_ROCKSDB_HEADERS)
  deltabloom_package(runtime libdeltabloom${abi} libs
  "filters for sorted string tables: the libraries"
  DESCRIPTION
    "Bloom and ribbon filters as plain bytes, in the layouts classic, local and"
    "compact, and filters that threads, or services in C++, Java and Go, share.")
endif()
if(TARGET deltabloom_redis)
  deltabloom_package(redis libdeltabloom-redis${abi} libs
    "filters for sorted string tables: Bloom filters in Redis"
    DESCRIPTION
      "Bloom filters in strings of a Redis server or cluster, with the bits of"
      "go-zero, of Guava's offsets, of PHP's named hashes, or in blocks of their own.")
  string(APPEND development_depends ", libdeltabloom-redis${abi} ${exactly}")
endif()
if(TARGET deltabloom_leveldb)
  deltabloom_package(leveldb libdeltabloom-leveldb${abi} libs
    "filters for sorted string tables: LevelDB policy"
    DESCRIPTION "Filter policies for LevelDB, one of them byte for byte LevelDB's own.")
  string(APPEND development_depends ", libdeltabloom-leveldb${abi} ${exactly}, libleveldb-dev")
endif()
if(TARGET deltabloom_rocksdb)
  set(minor ${deltabloom_rocksdb_minor})
  deltabloom_package(rocksdb libdeltabloom-rocksdb${minor}-${abi} libs
    "filters for sorted string tables: RocksDB ${minor} policy"
    DESCRIPTION
      "A filter policy for the unmodified RocksDB ${minor}, by a call, by name in"
      "OPTIONS files, or from C. Fewer false positives per byte than RocksDB's own"
      "filters, which it reads.")
endif()
if(TARGET deltabloom_rocksdb_module)
  set(minor ${deltabloom_rocksdb_minor})
  deltabloom_package(plugin deltabloom-rocksdb-plugin database
    "filters for sorted string tables: plugin for RocksDB"
    SUGGESTS "deltabloom-rocksdb${minor}-module, deltabloom-tools, rocksdb-tools"
    DESCRIPTION
      "Finds the RocksDB of a program, and loads the filter policy for its version"
      "from a package deltabloom-rocksdbX.Y-module: from other languages, or by"
      "LD_PRELOAD of libdeltabloom_rocksdb_plugin.so, which is in"
      "/usr/${CMAKE_INSTALL_LIBDIR}.")
  deltabloom_package(module deltabloom-rocksdb${minor}-module database
    "filters for sorted string tables: module for RocksDB ${minor}"
    DEPENDS "deltabloom-rocksdb-plugin ${exactly}"
    SUGGESTS "librocksdb${minor}"
    DESCRIPTION
      "Makes the filter policy known to programs as they are, that use RocksDB"
      "${minor}, shared or in a program or library that exports its functions.")
  if(TARGET deltabloom_leveldb_module)
    deltabloom_package(leveldb_module deltabloom-leveldb-module database
      "filters for sorted string tables: module for LevelDB"
      DEPENDS "deltabloom-rocksdb-plugin ${exactly}"
      SUGGESTS "libleveldb1d"
      DESCRIPTION
        "The policy that deltabloom run --replace-bloom gives to programs as they"
        "are, that use a shared LevelDB.")
  endif()
endif()
if(TARGET deltabloom_rocksdb)
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" next ${minor})
  math(EXPR next "${CMAKE_MATCH_2} + 1")
  string(APPEND development_depends
    ", libdeltabloom-rocksdb${minor}-${abi} ${exactly}, librocksdb-dev (>= ${minor}), "
    "librocksdb-dev (<< ${CMAKE_MATCH_1}.${next})")
endif()
if(NOT DELTABLOOM_ROCKSDB_HEADERS)
deltabloom_package(development libdeltabloom-dev libdevel
  "filters for sorted string tables: headers"
  DEPENDS "${development_depends}"
  SUGGESTS "deltabloom-tools, pkgconf, cmake"
  DESCRIPTION
    "Headers of Deltabloom's libraries, and the libraries for static linking,"
    "with files for CMake's find_package and for pkg-config.")
endif()
if(TARGET deltabloom_tool)
  deltabloom_package(tools deltabloom-tools database
    "filters for sorted string tables: the command deltabloom"
    SUGGESTS "rocksdb-tools"
    DESCRIPTION
      "Lists and checks the filters in the tables of RocksDB and LevelDB databases,"
      "and says what filters will cost and save. With the documents of Deltabloom.")
endif()
if(TARGET deltabloom_shared_tool)
  deltabloom_package(shared_tools deltabloom-shared database
    "filters that services share: the command deltabloom-shared"
    SUGGESTS "redis-server"
    DESCRIPTION
      "Makes, fills, asks and rebuilds Bloom filters in Redis that programs in C++,"
      "Java, Go and PHP share. With the documents of these filters.")
endif()

include(CPack)
