# The library "version", which `tessera version` prints. The commit is in a file of its own and not
# in generated/version.h, so that a new HEAD compiles only that file.
set(commit unknown)
if(EXISTS ${CMAKE_SOURCE_DIR}/.git)  # a file in a worktree; a tarball has none
  set(git git -C ${CMAKE_SOURCE_DIR} rev-parse)
  execute_process(COMMAND ${git} --short=12 HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} --absolute-git-dir
    OUTPUT_VARIABLE git_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(head)
    set(commit ${head})
  endif()
  # A checkout rewrites HEAD; commits and resets are appended to its log.
  foreach(file ${git_dir}/HEAD ${git_dir}/logs/HEAD)
    if(git_dir AND EXISTS ${file})
      set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    endif()
  endforeach()
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/version.h CONTENT
"#pragma once
#include <vector>

#define TESSERA_VERSION \"@PROJECT_VERSION@\"
#define TESSERA_BUILD \"@CMAKE_BUILD_TYPE@ @CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@\"
#define TESSERA_COMMIT tessera::kCommit

namespace tessera {
extern const char* const kCommit;  // \"unknown\" when it was built outside of git

// A source package of Debian that is linked in, and which version of it.
struct Linked {
  const char* name;
  const char* version;
};
// None where libraries are loaded from the system, as in builds for development. Any thread.
const std::vector<Linked>& LinkedLibraries();
}  // namespace tessera
" @ONLY)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/commit.cc CONTENT
"#include \"version.h\"

const char* const tessera::kCommit = \"@commit@\";
" @ONLY)
include(linked)
add_library(version STATIC ${CMAKE_BINARY_DIR}/generated/commit.cc ${CMAKE_BINARY_DIR}/generated/linked.cc)
target_include_directories(version PUBLIC ${CMAKE_BINARY_DIR}/generated)
