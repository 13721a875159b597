// SPDX-License-Identifier: Apache-2.0
// The memory of a process that lives for months.
#pragma once

namespace tessera::os {

// Large pieces go back to the kernel as soon as they are freed, and all threads share two heaps:
// what one of them needed for a moment, such as a scan of many thousand devices, is not kept by it
// for ever; and with a single one, threads that start at once wait for each other. Before any
// thread is started.
void KeepHeapSmall();

// Gives back the pages of the program's file and its libraries that are mapped and not written to.
// What is used again comes back from the kernel's page cache by itself, a few pages at a time; what
// only the start needed stays away, and the kernel can have its memory without asking. Any thread.
void ForgetUnwrittenPages();

}  // namespace tessera::os
