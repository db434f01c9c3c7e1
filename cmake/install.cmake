# cmake --install: headers, libraries, find_package(deltabloom COMPONENTS
# core shared redis rocksdb leveldb) and one pkg-config file per component.

include(CMakePackageConfigHelpers)

set(deltabloom_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/deltabloom)
set(deltabloom_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Installs library `target` under its component's name. `headers` are the
# public headers that only this component has. For pkg-config, LIBS is what its
# users call themselves, LIBS_PRIVATE what a static copy needs besides. PACKAGE
# names the package that a shared one is in (packages.cmake); all else is in
# that of development.
function(deltabloom_install target component)
  cmake_parse_arguments(arg "" "PACKAGE;DESCRIPTION;LIBS;LIBS_PRIVATE" "HEADERS" ${ARGN})
  if(NOT TARGET ${target})
    return()
  endif()
  install(TARGETS ${target} EXPORT deltabloom-${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT deltabloom_${arg_PACKAGE}
      NAMELINK_COMPONENT deltabloom_development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT deltabloom_development)
  if(TARGET ${target}_archive)
    install(TARGETS ${target}_archive
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT deltabloom_development)
  endif()
  install(EXPORT deltabloom-${component} NAMESPACE deltabloom::
    DESTINATION ${deltabloom_config_dir} COMPONENT deltabloom_development)
  foreach(header ${arg_HEADERS})
    install(FILES ${PROJECT_SOURCE_DIR}/include/deltabloom/${header}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/deltabloom COMPONENT deltabloom_development)
  endforeach()
  string(REPLACE "_" "-" pc_name ${target})
  set(pc_description "${arg_DESCRIPTION}")
  set(pc_lib ${target})
  set(pc_libs_private "${arg_LIBS_PRIVATE}")
  set(pc_libs "")
  if(arg_LIBS)
    set(pc_libs " ${arg_LIBS}")
  endif()
  if(NOT BUILD_SHARED_LIBS)
    string(APPEND pc_libs " ${pc_libs_private}")
    set(pc_libs_private "")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/deltabloom.pc.in
    ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc
    DESTINATION ${deltabloom_pkgconfig_dir} COMPONENT deltabloom_development)
endfunction()

file(GLOB deltabloom_core_headers RELATIVE ${PROJECT_SOURCE_DIR}/include/deltabloom
  CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/deltabloom/*.h)
set(deltabloom_shared_headers
  concurrent_filter.h go_murmur3_filter.h guava_filter.h)
list(REMOVE_ITEM deltabloom_core_headers key_transform.h rocksdb.h rocksdb_statistics.h leveldb.h redis_filter.h
  ${deltabloom_shared_headers})

deltabloom_install(deltabloom core
  PACKAGE runtime
  DESCRIPTION "Filters for sorted string tables"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS ${deltabloom_core_headers})
deltabloom_install(deltabloom_shared shared
  PACKAGE runtime
  DESCRIPTION "Filters shared with other languages and between threads"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS ${deltabloom_shared_headers})
# The linker's names of `target` and of all that a static library needs.
function(deltabloom_link_line target out)
  set(line ${${out}})
  if(NOT TARGET ${target})
    # -pthread, a path, or the name of a library.
    if(NOT target MATCHES "^[-/]")
      string(PREPEND target -l)
    endif()
    list(APPEND line ${target})
  else()
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(location ${target} LOCATION)
      list(APPEND line ${location})
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
      if(library AND NOT library MATCHES "\\$<")
        deltabloom_link_line(${library} line)
      endif()
    endforeach()
  endif()
  set(${out} ${line} PARENT_SCOPE)
endfunction()
set(rocksdb_libs -lrocksdb)
set(rocksdb_private "")
if(deltabloom_rocksdb_imported AND deltabloom_rocksdb_type STREQUAL "STATIC_LIBRARY")
  set(rocksdb_libs "")
  deltabloom_link_line(${deltabloom_rocksdb} rocksdb_libs)
elseif(deltabloom_rocksdb_imported AND TARGET RocksDB::rocksdb)
  deltabloom_link_line(RocksDB::rocksdb rocksdb_private)
  list(POP_FRONT rocksdb_private)
endif()
list(JOIN rocksdb_libs " " rocksdb_libs)
list(JOIN rocksdb_private " " rocksdb_private)

list(TRANSFORM deltabloom_redis_libraries PREPEND "-l" OUTPUT_VARIABLE redis_libs)
list(JOIN redis_libs " " redis_libs)
deltabloom_install(deltabloom_redis redis
  PACKAGE redis
  DESCRIPTION "Bloom filters in Redis, shared with other languages"
  LIBS_PRIVATE "${redis_libs} -lstdc++ -lm"
  HEADERS redis_filter.h)
deltabloom_install(deltabloom_rocksdb rocksdb
  PACKAGE rocksdb
  DESCRIPTION "Deltabloom as a RocksDB filter policy"
  LIBS "${rocksdb_libs}"
  LIBS_PRIVATE "${rocksdb_private} -lstdc++ -lm"
  HEADERS rocksdb.h rocksdb_statistics.h key_transform.h)
deltabloom_install(deltabloom_leveldb leveldb
  PACKAGE leveldb
  DESCRIPTION "Deltabloom as a LevelDB filter policy"
  LIBS "-lleveldb"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS leveldb.h)

if(TARGET deltabloom_rocksdb_plugin)
  install(TARGETS deltabloom_rocksdb_plugin deltabloom_rocksdb_plugin_policy
    LIBRARY DESTINATION ${deltabloom_plugin_dir} COMPONENT deltabloom_plugin)
endif()

configure_package_config_file(cmake/deltabloomConfig.cmake.in
  ${PROJECT_BINARY_DIR}/deltabloomConfig.cmake
  INSTALL_DESTINATION ${deltabloom_config_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/deltabloomConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  engines/rocksdb/find_rocksdb.cmake
  ${PROJECT_BINARY_DIR}/deltabloomConfig.cmake
  ${PROJECT_BINARY_DIR}/deltabloomConfigVersion.cmake
  DESTINATION ${deltabloom_config_dir} COMPONENT deltabloom_development)

if(DELTABLOOM_PACKAGES)
  include(cmake/packages.cmake)
endif()
