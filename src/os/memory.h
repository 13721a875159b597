// SPDX-License-Identifier: Apache-2.0
// Keeps the memory of a long-running process small.
#pragma once

namespace tessera::os {

// Makes malloc return large blocks to the kernel when freed, and limits it to two heaps. Otherwise
// each thread would keep the memory of its largest moment, such as a scan of thousands of devices.
// A single heap would make threads that start together contend. Call before any thread starts.
void KeepHeapSmall();

// Drops the unwritten pages of the program and its libraries from this process. Used pages return
// from the page cache on demand; pages that only the start needed stay away. Any thread.
void ForgetUnwrittenPages();

}  // namespace tessera::os
