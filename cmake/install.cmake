# cmake --install: headers, libraries, find_package(deltabloom COMPONENTS
# core shared redis rocksdb leveldb) and one pkg-config file per component.

# The loader, and the folder beside it that it looks into.
if(TARGET deltabloom_rocksdb_plugin)
  install(TARGETS deltabloom_rocksdb_plugin deltabloom_replace_bloom
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT deltabloom_plugin)
  install(TARGETS deltabloom_rocksdb_module
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/deltabloom COMPONENT deltabloom_module)
endif()
if(TARGET deltabloom_leveldb_module)
  install(TARGETS deltabloom_leveldb_module
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/deltabloom COMPONENT deltabloom_leveldb_module)
endif()
if(DELTABLOOM_ROCKSDB_HEADERS)
  if(DELTABLOOM_PACKAGES)
    include(cmake/packages.cmake)
  endif()
  return()
endif()

include(CMakePackageConfigHelpers)

set(deltabloom_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/deltabloom)
set(deltabloom_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The paths in .pc files start at the file itself, so that they hold for any
# `cmake --install --prefix` and for a folder that is moved. With an absolute
# CMAKE_INSTALL_LIBDIR, which no prefix moves, they are absolute. Blanks are
# escaped, in ${pcfiledir} by pkg-config itself.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_prefix /${deltabloom_pkgconfig_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
foreach(path pc_prefix pc_libdir pc_includedir)
  string(REPLACE " " "\\ " ${path} "${${path}}")
endforeach()

# Installs library `target` under its component's name. HEADERS are the
# public headers that only this component has. For pkg-config, LIBS is what its
# users call themselves, LIBS_PRIVATE what a static copy needs besides, and
# LIBS_STATIC what static copies of LIBS need. PACKAGE names the package that a
# shared one is in (packages.cmake); all else is in that of development.
function(deltabloom_install target component)
  cmake_parse_arguments(arg "" "PACKAGE;DESCRIPTION;LIBS;LIBS_PRIVATE;LIBS_STATIC" "HEADERS" ${ARGN})
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
    install(FILES ${header}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/deltabloom COMPONENT deltabloom_development)
  endforeach()
  string(REPLACE "_" "-" pc_name ${target})
  set(pc_description "${arg_DESCRIPTION}")
  set(pc_lib ${target})
  set(pc_libs "${arg_LIBS}")
  set(pc_libs_private "${arg_LIBS_STATIC}")
  if(BUILD_SHARED_LIBS)
    string(APPEND pc_libs_private " ${arg_LIBS_PRIVATE}")
  else()
    string(APPEND pc_libs " ${arg_LIBS_PRIVATE}")
  endif()
  string(STRIP "${pc_libs}" pc_libs)
  string(STRIP "${pc_libs_private}" pc_libs_private)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/deltabloom.pc.in
    ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc
    DESTINATION ${deltabloom_pkgconfig_dir} COMPONENT deltabloom_development)
endfunction()

file(GLOB deltabloom_core_headers CONFIGURE_DEPENDS include/deltabloom/*.h)
list(FILTER deltabloom_core_headers EXCLUDE REGEX "/(rocksdb|leveldb|load|key_transform)[a-z_]*\\.h$")

deltabloom_install(deltabloom core
  PACKAGE runtime
  DESCRIPTION "Filters for sorted string tables"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS ${deltabloom_core_headers})
include(shared_filters/install.cmake)
# Appends to `out` what the linker is told for `item` of a list of libraries: a
# flag, the path of a library, or its name. A shared library's path becomes its
# name, because paths may hold the library's version and other tools refuse them.
function(deltabloom_append_link_item item out)
  if(item MATCHES "^(/.+)/lib([^/]+)\\.so[.0-9]*$")
    set(folder ${CMAKE_MATCH_1})
    set(item -l${CMAKE_MATCH_2})
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND ${out} -L${folder})
    endif()
  elseif(NOT item MATCHES "^[-/]")
    string(PREPEND item -l)
  endif()
  list(APPEND ${out} ${item})
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()

# Appends to `out` what the linker is told for `target` and all that a static
# library needs.
function(deltabloom_link_line target out)
  if(NOT TARGET ${target})
    deltabloom_append_link_item(${target} ${out})
  else()
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(location ${target} LOCATION)
      deltabloom_append_link_item(${location} ${out})
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
      if(library AND NOT library MATCHES "\\$<")
        deltabloom_link_line(${library} ${out})
      endif()
    endforeach()
  endif()
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()

# A shared RocksDB is one library. A static one needs others, which are listed for
# it, and for users of the shared one's static copy.
set(rocksdb_libs -lrocksdb)
set(rocksdb_static "")
if(deltabloom_rocksdb_imported AND deltabloom_rocksdb_type STREQUAL "STATIC_LIBRARY")
  set(rocksdb_libs "")
  deltabloom_link_line(${deltabloom_rocksdb} rocksdb_libs)
elseif(deltabloom_rocksdb_imported)
  set(rocksdb_libs "")
  get_target_property(rocksdb_location ${deltabloom_rocksdb} LOCATION)
  deltabloom_append_link_item(${rocksdb_location} rocksdb_libs)
  if(TARGET RocksDB::rocksdb)
    deltabloom_link_line(RocksDB::rocksdb rocksdb_static)
    list(POP_FRONT rocksdb_static)
  endif()
endif()
list(JOIN rocksdb_libs " " rocksdb_libs)
list(JOIN rocksdb_static " " rocksdb_static)

deltabloom_install(deltabloom_rocksdb rocksdb
  PACKAGE rocksdb
  DESCRIPTION "Deltabloom as a RocksDB filter policy"
  LIBS "${rocksdb_libs}"
  LIBS_PRIVATE "-lstdc++ -lm"
  LIBS_STATIC "${rocksdb_static}"
  HEADERS include/deltabloom/rocksdb.h include/deltabloom/rocksdb_ranges.h
    include/deltabloom/rocksdb_statistics.h include/deltabloom/key_transform.h
    include/deltabloom/prefix_function.h)
deltabloom_install(deltabloom_leveldb leveldb
  PACKAGE leveldb
  DESCRIPTION "Deltabloom as a LevelDB filter policy"
  LIBS "-lleveldb"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS include/deltabloom/leveldb.h)

if(TARGET deltabloom_rocksdb_plugin)
  install(FILES include/deltabloom/load.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/deltabloom COMPONENT deltabloom_development)
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

if(deltabloom_top_level)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    VERBATIM)
endif()

if(DELTABLOOM_PACKAGES)
  include(cmake/packages.cmake)
endif()
