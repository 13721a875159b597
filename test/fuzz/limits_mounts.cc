// SPDX-License-Identifier: Apache-2.0
// The kernel's list of a process's mounts, as the limiter reads it in any program. Pods and images
// choose the names of their mounts, so any bytes may be in it.

#include "limiter/limits/mounts.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;
using tessera::limiter::MountOrigin;
using tessera::limiter::MountOriginOf;
using tessera::limiter::Text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Text mounts(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"limits", "no-limits"}) {
    const Text file(name);
    Require(MountOriginOf(mounts, 412, 412, file) != MountOrigin::kAgent,
            "the preload file is no limits file");
    Require(MountOriginOf(mounts, 412, -1, file) != MountOrigin::kAgent, "no file is nobody's");
    Require(MountOriginOf(mounts, -1, 414, file) == MountOrigin::kUnknown,
            "it has to be mounted by someone");
    (void)MountOriginOf(mounts, 412, 414, file);
  }
  return 0;
}
