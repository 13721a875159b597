# tessera_tests(PROGRAM): its tests, a quarter of them a process: one process a test would take longer to start than
# to test. They run in the root of the tree, where the documents are that some tests compare with. No path of this
# machine is compiled in, so that another clone finds the objects in the compiler's cache.
function(tessera_tests PROGRAM)
  foreach(quarter RANGE 3)
    add_test(NAME ${PROGRAM}.${quarter} COMMAND ${PROGRAM} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${PROGRAM}.${quarter} PROPERTIES TIMEOUT 600 LABELS ${PROGRAM}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${quarter}")
  endforeach()
endfunction()

# tessera_joined(TARGET): with TESSERA_UNITY, eight of its sources are compiled at once: most of a test's time goes
# into the headers it shares with others. Names of one folder's tests are unique.
function(tessera_joined TARGET)
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${TESSERA_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
