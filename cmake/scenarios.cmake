# tessera_scenarios(TARGET): embeds the scenarios of demo/scenarios/ in the library TARGET.
function(tessera_scenarios TARGET)
  file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/demo/scenarios/*.yaml)
  set(out ${CMAKE_BINARY_DIR}/generated/builtin_scenarios.cc)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DDIR=${CMAKE_SOURCE_DIR}/demo/scenarios -DOUT=${out}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_scenarios.cmake
    DEPENDS ${scenarios} ${CMAKE_SOURCE_DIR}/cmake/embed_scenarios.cmake)
  target_sources(${TARGET} PRIVATE ${out})
  if(TARGET ${TARGET}_test)  # one of the tests plays scenarios with the program
    target_compile_definitions(${TARGET}_test PRIVATE
      TESSERA_PROGRAM="$<TARGET_FILE:tessera>" TESSERA_SIM="$<TARGET_FILE:tessera-sim>"
      TESSERA_FAKE_NVML="$<TARGET_FILE:fake_nvml>" TESSERA_FAKE_NODE="$<TARGET_FILE:fake_node>")
    add_dependencies(${TARGET}_test tessera tessera-sim fake_nvml fake_node)
  endif()
endfunction()
