// SPDX-License-Identifier: Apache-2.0
// How the C library's heap behaves in a process that lives for months.
#pragma once

namespace tessera::os {

// Large pieces go back to the kernel as soon as they are freed, and all threads share one heap:
// what one of them needed for a moment, such as a scan of many thousand devices, is not kept by it
// for ever. Before any thread is started.
void KeepHeapSmall();

}  // namespace tessera::os
