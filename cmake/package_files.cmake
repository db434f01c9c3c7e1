# Run by cpack between installing and packing: adds to each package what Debian
# wants in it, copyright and changelogs, and compresses manual pages. The CPACK_
# variables are those of packages.cmake.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP year "%Y" UTC)

function(compress file)
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} variable)
  set(package ${CPACK_DEBIAN_${variable}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(documents ${root}/share/doc/${package})
  set(overrides)
  file(GLOB pages ${root}/share/man/man*/*.[1-9])
  foreach(page ${pages})
    compress(${page})
  endforeach()

  file(WRITE ${documents}/copyright
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
    "Upstream-Name: Deltabloom\n\n"
    "Files: *\nCopyright: ${year} the authors of Deltabloom\nLicense: Apache-2.0\n\n"
    "License: Apache-2.0\n"
    " On Debian systems, the Apache License 2.0 is in\n"
    " /usr/share/common-licenses/Apache-2.0.\n")
  file(WRITE ${documents}/changelog.Debian
    "${package} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Packages as Deltabloom itself makes them. What changed is in changelog.gz.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  compress(${documents}/changelog.Debian)
  file(COPY_FILE ${CPACK_DELTABLOOM_SOURCE}/CHANGELOG.md ${documents}/changelog)
  compress(${documents}/changelog)
  if(component STREQUAL "deltabloom_tools")
    file(COPY ${CPACK_DELTABLOOM_SOURCE}/README.md ${CPACK_DELTABLOOM_SOURCE}/SECURITY.md
      DESTINATION ${documents})
    file(COPY ${CPACK_DELTABLOOM_SOURCE}/docs DESTINATION ${documents}
      FILES_MATCHING PATTERN "*.md" PATTERN images EXCLUDE PATTERN performance EXCLUDE)
  endif()
  if(component STREQUAL "deltabloom_plugin")
    # Its libraries are preloaded or opened by path, and no program is linked with them.
    set(overrides ${root}/share/lintian)
    file(WRITE ${overrides}/overrides/${package}
      "${package}: sharedobject-in-library-directory-missing-soname *\n")
  endif()
  if(component STREQUAL "deltabloom_shared_tools")
    file(COPY ${CPACK_DELTABLOOM_SOURCE}/shared_filters/README.md
      ${CPACK_DELTABLOOM_SOURCE}/shared_filters/docs DESTINATION ${documents})
  endif()
  # Files have the permissions that dpkg expects, whatever the umask.
  file(CHMOD_RECURSE ${documents} ${overrides}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
      GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
