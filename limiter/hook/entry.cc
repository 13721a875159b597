// SPDX-License-Identifier: Apache-2.0
// dlsym, dlvsym and dlclose for every object of the process. The first two are in assembly. A
// lookup that is not the limiter's is a jump, not a call: the loader inspects its caller's frame,
// and must see the program's. So RTLD_NEXT, RTLD_DEFAULT and dlerror keep their meaning.
#include "limiter/contract.h"
#include "limiter/driver/driver.h"
#include "limiter/driver/nvml.h"
#include "limiter/hook/loader.h"
#include "limiter/hook/lookup.h"

using tessera::limiter::Route;

// The agent recognises the file by it.
[[gnu::used, gnu::retain]] static constexpr auto kMark = [] {
  struct {
    char text[sizeof tessera::limiter::kLibraryMark];
  } mark{};
  for (size_t i = 0; i < sizeof mark.text; ++i) mark.text[i] = tessera::limiter::kLibraryMark[i];
  return mark;
}();

extern "C" {

[[gnu::used, gnu::visibility("hidden")]] Route tessera_route_dlsym(void* handle, const char* name,
                                                                   const void* caller) {
  return tessera::limiter::RouteLookup(handle, name, caller);
}

[[gnu::used, gnu::visibility("hidden")]] Route tessera_route_dlvsym(void* handle, const char* name,
                                                                    const char* version,
                                                                    const void* caller) {
  return tessera::limiter::RouteVersionLookup(handle, name, version, caller);
}

// A program that unloads the driver or NVML also unloads their functions.
[[gnu::visibility("default")]] int dlclose(void* handle) {
  const auto own = reinterpret_cast<int (*)(void*)>(
      tessera::limiter::TheLoaders(tessera::limiter::LoaderFunction::kDlclose));
  const int result = own != nullptr ? own(handle) : -1;
  tessera::limiter::LookForDriverAnew();
  tessera::limiter::LookForNvmlAnew();
  return result;
}

}  // extern "C"

// The route is (next, answer): in rax and rdx, or x0 and x1.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
  .p2align 4
dlsym:
  .cfi_startproc
  endbr64
  movq (%rsp), %rdx
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tessera_route_dlsym
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jz 1f
  jmp *%rax
1:
  movq %rdx, %rax
  ret
  .cfi_endproc
  .size dlsym, . - dlsym

  .globl dlvsym
  .type dlvsym, @function
  .p2align 4
dlvsym:
  .cfi_startproc
  endbr64
  movq (%rsp), %rcx
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  call tessera_route_dlvsym
  movq %rdx, %rcx
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jz 1f
  jmp *%rax
1:
  movq %rcx, %rax
  ret
  .cfi_endproc
  .size dlvsym, . - dlvsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, %function
  .p2align 4
dlsym:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  stp x0, x1, [sp, #16]
  mov x29, sp
  mov x2, x30
  bl tessera_route_dlsym
  mov x16, x0
  mov x17, x1
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  cbz x16, 1f
  br x16
1:
  mov x0, x17
  ret
  .cfi_endproc
  .size dlsym, . - dlsym

  .globl dlvsym
  .type dlvsym, %function
  .p2align 4
dlvsym:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset 29, -48
  .cfi_offset 30, -40
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  mov x29, sp
  mov x3, x30
  bl tessera_route_dlvsym
  mov x16, x0
  mov x17, x1
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  cbz x16, 1f
  br x16
1:
  mov x0, x17
  ret
  .cfi_endproc
  .size dlvsym, . - dlvsym
)");
#else
#error "the limiter knows x86-64 and aarch64"
#endif
