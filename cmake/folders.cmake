# tessera_library(FOLDER LINK ... PRIVATE ... TESTS ...): the library of src/FOLDER/*.cc, or of
# FOLDER/*.cc if FOLDER begins with sim/. The *_test.cc there become the test program FOLDER_test,
# which also links TESTS. Slashes in target names become underscores. APART: each test runs in a
# process of its own. Tests that open libraries need this, as the thread sanitizer reports the
# loader's races.
function(tessera_library FOLDER)
  cmake_parse_arguments(ARG "APART" "" "LINK;PRIVATE;TESTS" ${ARGN})
  string(REPLACE "/" "_" name ${FOLDER})
  set(root ${CMAKE_SOURCE_DIR}/src)
  set(includes ${root} ${CMAKE_BINARY_DIR}/generated)
  if(FOLDER MATCHES "^sim/")
    set(root ${CMAKE_SOURCE_DIR})
    list(APPEND includes ${root})
  endif()
  if(EXISTS ${root}/${FOLDER}/reasons.def)
    set_property(GLOBAL APPEND_STRING PROPERTY TESSERA_REASONS "#include \"${FOLDER}/reasons.def\"\n")
  endif()
  if(EXISTS ${root}/${FOLDER}/metrics.def)
    get_property(below GLOBAL PROPERTY TESSERA_METRICS)
    set_property(GLOBAL PROPERTY TESSERA_METRICS "#include \"${FOLDER}/metrics.def\"\n${below}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${root}/${FOLDER}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${includes})
    target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE tessera_warnings ${ARG_PRIVATE})
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${TESSERA_UNITY} UNITY_BUILD_BATCH_SIZE 10)
    tessera_covered(${name})
    tessera_precompiled(${name} product)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${includes})
    target_link_libraries(${name} INTERFACE ${ARG_LINK})
  endif()
  if(BUILD_TESTING AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_PRIVATE} ${ARG_TESTS} tessera_warnings GTest::gtest_main)
    tessera_joined(${name}_test)
    tessera_precompiled(${name}_test test)
    if(ARG_APART)
      gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES TIMEOUT 600 LABELS ${name}_test)
    else()
      tessera_tests(${name}_test)
    endif()
  endif()
endfunction()

# tessera_module(FOLDER FOR LIBRARY PRIVATE ...): libtessera-FOLDER.so of src/FOLDER/*.cc. Programs
# with LIBRARY load it when they need it, from their own directory or from ../lib/tessera. It may
# use LIBRARY's headers, and is built along with it. Apart from the named libraries it has only its
# own code.
function(tessera_module FOLDER)
  cmake_parse_arguments(ARG "" "FOR" "PRIVATE" ${ARGN})
  set(name tessera-${FOLDER})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${FOLDER}/*.cc)
  add_library(${name} MODULE ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE tessera_warnings ${ARG_PRIVATE})
  target_compile_options(${name} PRIVATE -fvisibility=hidden -fno-exceptions $<$<CONFIG:Release>:-Os>)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections
    $<$<CONFIG:Release>:-s> $<$<CONFIG:Release>:-Wl,-z,pack-relative-relocs>)
  add_dependencies(${ARG_FOR} ${name})
  install(TARGETS ${name} DESTINATION lib/tessera)
endfunction()

# tessera_kind(NAME APART LINK ... PRIVATE ... TESTS ...): a kind of device. Makes the library of
# src/backend/NAME/, which links its sub-folders' libraries, and adds it to the list for src/kinds/.
# Its tests read configurations as the agent does.
function(tessera_kind NAME)
  cmake_parse_arguments(ARG "" "" "LINK;PRIVATE;TESTS" ${ARGN})
  tessera_library(backend/${NAME} ${ARG_UNPARSED_ARGUMENTS} LINK backend ${ARG_LINK} PRIVATE ${ARG_PRIVATE}
    TESTS kinds ${ARG_TESTS})
  set_property(GLOBAL APPEND_STRING PROPERTY TESSERA_KINDS "TESSERA_KIND(${NAME})\n")
  set_property(GLOBAL APPEND PROPERTY TESSERA_KIND_LIBRARIES backend_${NAME})
endfunction()

# tessera_kind_list(): writes the list of all kinds above, for the library of src/kinds/.
function(tessera_kind_list)
  get_property(kinds GLOBAL PROPERTY TESSERA_KINDS)
  get_property(libraries GLOBAL PROPERTY TESSERA_KIND_LIBRARIES)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kinds.def CONTENT "${kinds}" @ONLY)
  target_link_libraries(kinds PUBLIC ${libraries})
endfunction()

# tessera_tables(): all folders' reasons for base/error.h, lowest folder first, and their metrics
# for http/metrics.h. Metrics of the highest folder come first, as a reader looks for the agent's
# own.
function(tessera_tables)
  get_property(reasons GLOBAL PROPERTY TESSERA_REASONS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/all_reasons.def CONTENT "${reasons}" @ONLY)
  get_property(metrics GLOBAL PROPERTY TESSERA_METRICS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/all_metrics.def CONTENT "${metrics}" @ONLY)
endfunction()

# tessera_proto(NAME): the library proto_NAME, with proto/NAME/NAME.proto's messages and services.
function(tessera_proto NAME)
  set(source ${CMAKE_SOURCE_DIR}/proto/${NAME}/${NAME}.proto)
  set(out ${CMAKE_BINARY_DIR}/generated)
  set(base ${out}/proto/${NAME}/${NAME})
  file(MAKE_DIRECTORY ${out})
  find_program(PROTOC protoc REQUIRED)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  add_custom_command(
    OUTPUT ${base}.pb.cc ${base}.pb.h ${base}.grpc.pb.cc ${base}.grpc.pb.h
    COMMAND ${PROTOC} -I${CMAKE_SOURCE_DIR} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${source}
    DEPENDS ${source})
  add_library(proto_${NAME} STATIC ${base}.pb.cc ${base}.grpc.pb.cc)
  target_include_directories(proto_${NAME} SYSTEM PUBLIC ${out})
  target_link_libraries(proto_${NAME} PUBLIC tessera::grpc)
endfunction()

# tessera_exports(TARGET FILE): modules that the program loads find its functions in FILE's list.
function(tessera_exports TARGET FILE)
  target_link_options(${TARGET} PRIVATE -Wl,--export-dynamic-symbol-list=${FILE})
  set_property(TARGET ${TARGET} APPEND PROPERTY LINK_DEPENDS ${FILE})
endfunction()
