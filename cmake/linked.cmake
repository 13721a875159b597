# The Debian packages and versions that are linked into the binary and its TLS file. `tessera
# version --libraries` prints them, and a CycloneDX document next to the binary lists them. A node's
# updates do not reach these libraries.

# A sysroot has a database of its packages (tools/sysroot).
set(database)
if(CMAKE_SYSROOT)
  file(REAL_PATH "${CMAKE_SYSROOT}" sysroot)
  set(database --admindir=${sysroot}/var/lib/dpkg)
endif()
set(linked_headers libfmt-dev libcli11-dev libexpected-dev libboost1.81-dev libstdc++-12-dev)
set(linked)
if(TESSERA_STATIC)
  get_directory_property(known CACHE_VARIABLES)
  set(archives)
  foreach(name ${known})
    if(name MATCHES "^archive_")
      file(REAL_PATH "${${name}}" path)
      if(CMAKE_SYSROOT)
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${sysroot})
        string(PREPEND path /)
      endif()
      list(APPEND archives ${path})
    endif()
  endforeach()
  execute_process(COMMAND dpkg-query ${database} --search ${archives}
    OUTPUT_VARIABLE owners OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE ":[^\n]*" "" owners "${owners}")
  string(REPLACE "\n" ";" owners "${owners}")
  list(APPEND owners ${linked_headers})
  list(REMOVE_DUPLICATES owners)
  execute_process(COMMAND dpkg-query ${database} --show "--showformat=\${source:Package} \${source:Version}\n" ${owners}
    OUTPUT_VARIABLE versions OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "\n" ";" linked "${versions}")
  list(REMOVE_DUPLICATES linked)
  list(SORT linked)
endif()

set(rows)
set(components)
foreach(row ${linked})
  string(REPLACE " " ";" row "${row}")
  list(GET row 0 name)
  list(GET row 1 version)
  string(APPEND rows "    {\"${name}\", \"${version}\"},\n")
  string(APPEND components
    "${comma}\n    {\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${version}\", "
    "\"purl\": \"pkg:deb/debian/${name}@${version}?arch=source&distro=debian-12\"}")
  set(comma ",")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/linked.cc CONTENT
"#include \"version.h\"

namespace tessera {
const std::vector<Linked>& LinkedLibraries() {
  static const std::vector<Linked> libraries = {
@rows@  };
  return libraries;
}
}  // namespace tessera
" @ONLY)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tessera.cdx.json CONTENT
"{
  \"bomFormat\": \"CycloneDX\",
  \"specVersion\": \"1.5\",
  \"version\": 1,
  \"metadata\": {
    \"component\": {\"type\": \"application\", \"name\": \"tessera\", \"version\": \"@PROJECT_VERSION@\",
      \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}]}
  },
  \"components\": [@components@
  ]
}
" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tessera.cdx.json DESTINATION lib/tessera)
