// SPDX-License-Identifier: Apache-2.0
// What the fake NVML (test/nvml, a library of its own) can do besides what NVML does: make the
// files of a node of which it then tells, and change what it tells of. Any thread.
#pragma once

namespace tessera::demo {

// Below the node's directory: where the library is put, to be found as the driver's would be.
inline constexpr char kNvmlPath[] = "/usr/lib64/libnvidia-ml.so.1";

// True: it is done, or with `only_ask` could be; `answer` has the devices that it is about, one a
// line: "INDEX ID MEMORY NAME", as in "6:0 MIG-... 0 1g.10gb", or "6:-" for one that goes; the
// memory is a GPU's, in MiB, and 0 for others. False: `answer` says what is wrong with `text`. The
// answer stays until the thread's next call.
using HardwareCall = bool(const char* directory, const char* text, bool only_ask,
                          const char** answer);

// The files of the node that this description (test/nvml/hardware.h) tells of, the library
// excepted: device nodes, as plain files, what sysfs and /proc tell, and the description.
inline constexpr char kMakeNode[] = "tesseraMakeNode";
// What is wrong from now on (test/nvml/faults.h); empty: nothing.
inline constexpr char kSetFaults[] = "tesseraSetFaults";
// How GPUs are divided from now on, by index: "6: [{profile: 3g.40gb, gi: 2, memory: 40448}]".
inline constexpr char kSetMig[] = "tesseraSetMig";

}  // namespace tessera::demo
