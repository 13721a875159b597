// SPDX-License-Identifier: Apache-2.0
// The functions of a library that makes the files of a node with hardware and changes them: the
// fake NVML (test/nvml), which has them besides NVML's, and the one for nodes that are files
// (test/demo). Any thread.
#pragma once

namespace tessera::demo {

// The fake NVML's place below the node's directory, which is that of a driver's.
inline constexpr char kNvmlPath[] = "/usr/lib64/libnvidia-ml.so.1";
// The library for nodes that are files, and its simulators: the keys of its descriptions, and the
// kinds of devices that they are for.
inline constexpr char kNodeLibrary[] = "libfake-node.so";
inline constexpr const char* kNodeKeys[] = {"amd", "rdma", "ascend"};

// True: it is done, or with `only_ask` possible. `answer` then has its devices, one a line: "INDEX
// ID MEMORY NAME", as in "6:0 MIG-... 0 1g.10gb" for a part of GPU 6. A removed MIG device is
// "6:-". The memory is a whole device's in MiB, and 0 for others. False: `answer` has the error of
// `text`.
// `answer` stays until the thread's next call.
using HardwareCall = bool(const char* directory, const char* text, bool only_ask,
                          const char** answer);

// Makes the node's files from this description (test/nvml/hardware.h; or "amd: NAME", "rdma: NAME",
// "ascend: NAME", each with a name of test/KEY/node.h): device nodes, as plain files, files of
// sysfs and /proc, and the description. The fake NVML is not copied.
inline constexpr char kMakeNode[] = "tesseraMakeNode";
// Sets the faults (test/nvml/faults.h); empty: none. For nodes that are files: makes changes
// (test/KEY/changes.cc), one after the other. If the description has several keys, each line begins
// with one: "rdma lose 0000:15:00.0".
inline constexpr char kSetFaults[] = "tesseraSetFaults";
// Divides NVIDIA GPUs, by index: "6: [{profile: 3g.40gb, gi: 2, memory: 40448}]".
inline constexpr char kSetMig[] = "tesseraSetMig";

}  // namespace tessera::demo
