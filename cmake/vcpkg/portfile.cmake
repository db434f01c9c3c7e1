# A port that builds from this source tree:
#   vcpkg install "deltabloom[rocksdb]" --overlay-ports=cmake/vcpkg
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES rocksdb DELTABLOOM_ROCKSDB)
vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS ${features}
    -DDELTABLOOM_LEVELDB=OFF -DDELTABLOOM_REDIS=OFF -DDELTABLOOM_TOOLS=OFF
    -DDELTABLOOM_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/deltabloom)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
