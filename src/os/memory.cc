// SPDX-License-Identifier: Apache-2.0
#include "os/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::os {
namespace {

// Drops one object's pages. Writable segments are skipped, because their changes would be lost.
int ForgetObject(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // Fails for objects without a file, such as the vDSO, which is harmless.
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void KeepHeapSmall() {
  // Setting these also stops glibc from raising them dynamically.
  constexpr int kLarge = 128 * 1024;
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
  mallopt(M_ARENA_MAX, 2);
  // NOLINTEND(concurrency-mt-unsafe)
}

void ForgetUnwrittenPages() {
  dl_iterate_phdr(ForgetObject, nullptr);
}

}  // namespace tessera::os
