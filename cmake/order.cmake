# What runs lies together in the file (docs/decisions/009-functions-in-the-order-they-run.md): build/order.txt
# names the functions. tools/order makes it when a release is built (tools/release). A name that is gone is passed
# over; without the list functions lie as the linker puts them.
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
