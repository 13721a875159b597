// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of the dynamic loader that the limiter stands before or calls. They are not
// referred to by name, because the name is the limiter's own, or not in every libc: the next
// definition in the loader's list is looked up (libc.so.6, before glibc 2.34 libdl.so.2, or another
// library that stands before it). Any thread.

namespace tessera::limiter {

enum class LoaderFunction : unsigned char { kDlsym, kDlvsym, kDlclose, kDlopen, kCount };

// Null where no object has it, as in a program of an old glibc that does not link libdl.
void* TheLoaders(LoaderFunction function);

}  // namespace tessera::limiter
