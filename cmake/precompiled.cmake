# tessera_precompiled(TARGET test|product): compiles the headers that nearly every source includes
# once for each preset. Without optimisation, reading them is half of clang's time for a source.
# Only headers that hardly change belong here. Every source still includes what it uses; the preset
# dev enforces that.
function(tessera_precompiled TARGET KIND)
  if(TESSERA_PRECOMPILED)
    target_precompile_headers(${TARGET} REUSE_FROM precompiled_${KIND})
    target_compile_options(${TARGET} PRIVATE -fPIC)  # as the headers; programs get -fPIE
  endif()
endfunction()

if(NOT TESSERA_PRECOMPILED)
  return()
endif()

set(headers <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <csignal> <cstdint>
  <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <future> <map> <memory> <mutex>
  <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map>
  <utility> <variant> <vector> <fmt/core.h> <fmt/format.h> <tl/expected.hpp> <boost/json.hpp>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled.cc CONTENT "// Carries the precompiled headers.\n")
add_library(precompiled_product OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
target_precompile_headers(precompiled_product PRIVATE ${headers})
add_library(precompiled_test OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
target_precompile_headers(precompiled_test PRIVATE ${headers} <gtest/gtest.h>)
target_link_libraries(precompiled_product PRIVATE tessera::boost_json tessera::fmt tessera::expected)
target_link_libraries(precompiled_test PRIVATE tessera::boost_json tessera::fmt tessera::expected GTest::gtest_main)
