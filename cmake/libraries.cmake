# The third-party libraries, all from Debian 12, one target each: tessera::NAME. Development builds
# link them shared. With TESSERA_STATIC all but libc and libm are linked in.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(tessera_external NAME)
  cmake_parse_arguments(ARG "" "" "LINK;DEFINE;INCLUDE" ${ARGN})
  add_library(external_${NAME} INTERFACE)
  target_link_libraries(external_${NAME} INTERFACE ${ARG_LINK})
  target_compile_definitions(external_${NAME} INTERFACE ${ARG_DEFINE})
  target_include_directories(external_${NAME} SYSTEM INTERFACE ${ARG_INCLUDE})
  add_library(tessera::${NAME} ALIAS external_${NAME})
endfunction()

tessera_external(expected)
tessera_external(cli11)
# Headers only: Debian has no archive, and its shared library throws.
tessera_external(tomlplusplus DEFINE TOML_EXCEPTIONS=0 TOML_ENABLE_FORMATTERS=0)
tessera_external(boost_beast)  # headers only

# The full paths of these libraries' archives, so that no shared library can slip in.
function(tessera_archives OUT)
  set(paths)
  foreach(name ${ARGN})
    find_library(archive_${name} NAMES lib${name}.a REQUIRED)
    list(APPEND paths ${archive_${name}})
  endforeach()
  set(${OUT} ${paths} PARENT_SCOPE)
endfunction()

if(TESSERA_STATIC)
  # Debian's grpc++_unsecure.pc names no dependencies. So grpc++'s list is used, with the names
  # replaced.
  execute_process(COMMAND pkg-config --static --libs-only-l grpc++
    OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(names)
  list(TRANSFORM names REPLACE "^-l" "")
  list(REMOVE_DUPLICATES names)
  list(REMOVE_ITEM names ssl crypto atomic pthread m rt dl protobuf)
  list(TRANSFORM names REPLACE "^grpc\\+\\+$" "grpc++_unsecure")
  list(TRANSFORM names REPLACE "^grpc$" "grpc_unsecure")
  tessera_archives(grpc ${names} protobuf-lite)
  list(JOIN grpc "," grpc)
  tessera_external(grpc LINK "$<LINK_GROUP:RESCAN,${grpc}>" Threads::Threads)
  add_library(fmt_once STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cc)
  tessera_external(fmt LINK fmt_once)
  foreach(library event_core event_extra event_openssl ssl crypto yaml boost_json)
    tessera_archives(${library} ${library})
  endforeach()
  tessera_external(event_core LINK ${event_core})
  tessera_external(event_http LINK ${event_extra} ${event_core})
  tessera_external(tls LINK ${event_openssl} ${ssl} ${crypto})  # with the program's event_core
  tessera_external(yaml LINK ${yaml})
  tessera_external(boost_json LINK ${boost_json})
  add_link_options(-static-libstdc++ -static-libgcc)
else()
  tessera_external(grpc LINK grpc++_unsecure grpc_unsecure gpr protobuf-lite absl_synchronization
    Threads::Threads)
  tessera_external(fmt LINK fmt)
  tessera_external(event_core LINK event_core)
  tessera_external(event_http LINK event_extra event_core)
  tessera_external(tls LINK event_openssl ssl crypto)
  tessera_external(yaml LINK yaml)
  tessera_external(boost_json LINK boost_json)
endif()
