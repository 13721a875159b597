# Targets for another processor: libvgpu.so, its tests, and the ways into it in real programs.
enable_testing()
include(GoogleTest)
set(INSTALL_GTEST OFF)
add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
add_subdirectory(test/waits)
add_subdirectory(limiter)
target_compile_options(limiter_test PRIVATE -Wno-dangling-else)  # gtest's macros, g++ only
add_subdirectory(test/limiter/ways)
