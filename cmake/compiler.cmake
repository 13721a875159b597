# The language, the warnings and the sanitizers, for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)  # TRY() is a GNU statement expression
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, comma-separated")

add_library(tessera_warnings INTERFACE)
target_compile_options(tessera_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(TESSERA_WERROR)
  target_compile_options(tessera_warnings INTERFACE -Werror)
endif()

if(TESSERA_UNITY)
  # g++ warns only of headers, but takes a source that another one includes for a header.
  target_compile_options(tessera_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
  if(TESSERA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  # Tests cannot ask a sanitizer whether it is there, and g++ and clang++ define different macros.
  if(TESSERA_SANITIZE MATCHES address)
    add_compile_definitions(TESSERA_ASAN)
  elseif(TESSERA_SANITIZE MATCHES thread)
    add_compile_definitions(TESSERA_TSAN)
  endif()
endif()

# tessera_unsanitized(TARGET): for a target that is also loaded into programs without a sanitizer.
function(tessera_unsanitized TARGET)
  target_compile_options(${TARGET} PRIVATE -fno-sanitize=all)
  target_link_options(${TARGET} PRIVATE -fno-sanitize=all)
endfunction()

# tessera_covered(TARGET): with TESSERA_FUZZ a fuzzer sees the branches that its code takes. Tests
# that use it lose little speed.
function(tessera_covered TARGET)
  if(TESSERA_FUZZ)
    target_compile_options(${TARGET} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp)
  endif()
endfunction()

# For what ships (decision 017). libvgpu.so takes most of it back by later options
# (limiter/CMakeLists.txt). CMake keeps a repeated option only in its first place.
option(TESSERA_HARDENED "Compile and link with the compiler's and the linker's defences" OFF)
if(TESSERA_HARDENED)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=3)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

find_program(TESSERA_MOLD mold)
if(TESSERA_MOLD AND NOT TESSERA_STATIC AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()
