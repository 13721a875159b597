# generated/version.h: what `tessera version` prints. Rewritten only when it changes.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/version.h CONTENT
"#pragma once
#define TESSERA_VERSION \"@PROJECT_VERSION@\"
#define TESSERA_COMMIT \"@commit@\"
#define TESSERA_BUILD \"@CMAKE_BUILD_TYPE@ @CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@\"
" @ONLY)
