# Functions that run lie together in the file
# (docs/decisions/009-functions-in-the-order-they-run.md). build/order.txt names them; tools/order
# makes it for a release (tools/release). The linker ignores names that no longer exist. Without the
# list it chooses the order.
find_program(TESSERA_LLD ld.lld HINTS /usr/lib/llvm-19/bin REQUIRED)
cmake_path(GET TESSERA_LLD PARENT_PATH TESSERA_LLD_DIRECTORY)

function(tessera_ordered TARGET)
  target_link_options(${TARGET} PRIVATE -B${TESSERA_LLD_DIRECTORY} -fuse-ld=lld)
  file(GLOB order CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/build/order.txt)
  if(order)
    target_link_options(${TARGET} PRIVATE -Wl,--symbol-ordering-file=${order} -Wl,--no-warn-symbol-ordering)
    set_property(TARGET ${TARGET} APPEND PROPERTY LINK_DEPENDS ${order})
  endif()
endfunction()
