# What runs lies together in the file (docs/decisions/009-functions-in-the-order-they-run.md).
# cmake/order.txt names the functions, tools/order makes it anew; a name that is gone is passed over.
find_program(TESSERA_LLD ld.lld HINTS /usr/lib/llvm-19/bin REQUIRED)
cmake_path(GET TESSERA_LLD PARENT_PATH TESSERA_LLD_DIRECTORY)

function(tessera_ordered TARGET)
  set(order ${CMAKE_SOURCE_DIR}/cmake/order.txt)
  target_link_options(${TARGET} PRIVATE -B${TESSERA_LLD_DIRECTORY} -fuse-ld=lld
    -Wl,--symbol-ordering-file=${order} -Wl,--no-warn-symbol-ordering)
  set_property(TARGET ${TARGET} APPEND PROPERTY LINK_DEPENDS ${order})
endfunction()
