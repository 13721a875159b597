// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of the dynamic loader that the limiter hooks or calls. They cannot be called by
// name: the name is the limiter's own, or is missing in some libc. So the next definition in the
// loader's list is used: libc.so.6, libdl.so.2 before glibc 2.34, or another library in front of
// them. Any thread.

namespace tessera::limiter {

enum class LoaderFunction : unsigned char { kDlsym, kDlvsym, kDlclose, kDlopen, kCount };

// Null if no object has it, as in a program of an old glibc that does not link libdl.
void* TheLoaders(LoaderFunction function);

}  // namespace tessera::limiter
