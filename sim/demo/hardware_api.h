// SPDX-License-Identifier: Apache-2.0
// The functions of the fake NVML (test/nvml, its own library) besides NVML's. They make the files
// of a node and change it. Any thread.
#pragma once

namespace tessera::demo {

// The library's place below the node's directory, which is that of a driver's.
inline constexpr char kNvmlPath[] = "/usr/lib64/libnvidia-ml.so.1";

// True: it is done, or with `only_ask` possible. `answer` then has its devices, one a line: "INDEX
// ID MEMORY NAME", as in "6:0 MIG-... 0 1g.10gb". A removed MIG device is "6:-". The memory is a
// GPU's in MiB, and 0 for others. False: `answer` has the error of `text`. `answer` stays until the
// thread's next call.
using HardwareCall = bool(const char* directory, const char* text, bool only_ask,
                          const char** answer);

// Makes the node's files from this description (test/nvml/hardware.h): device nodes, as plain
// files, files of sysfs and /proc, and the description. The library is not copied.
inline constexpr char kMakeNode[] = "tesseraMakeNode";
// Sets the faults (test/nvml/faults.h); empty: none.
inline constexpr char kSetFaults[] = "tesseraSetFaults";
// Divides GPUs, by index: "6: [{profile: 3g.40gb, gi: 2, memory: 40448}]".
inline constexpr char kSetMig[] = "tesseraSetMig";

}  // namespace tessera::demo
