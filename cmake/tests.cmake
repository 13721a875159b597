# tessera_tests(PROGRAM): its tests in four processes, as one process for each test would take
# longer to start than to test. They run in the root of the tree, where some tests read documents.
# No path of this machine is compiled in, so another clone finds the objects in the compiler's
# cache.
function(tessera_tests PROGRAM)
  foreach(quarter RANGE 3)
    add_test(NAME ${PROGRAM}.${quarter} COMMAND ${PROGRAM} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${PROGRAM}.${quarter} PROPERTIES TIMEOUT 600 LABELS ${PROGRAM}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${quarter}")
  endforeach()
endfunction()

# tessera_joined(TARGET): with TESSERA_UNITY, eight of its sources are compiled at once, as shared
# headers take most of a test's compile time. Test names must be unique in a folder.
function(tessera_joined TARGET)
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${TESSERA_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
