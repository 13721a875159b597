// SPDX-License-Identifier: Apache-2.0
// The kernel's streams of events of a simulated node's GPUs, as named pipes: /dev/kfd gives them by
// an ioctl, which no file can. As with the kernel, what nobody listens to is lost. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "os/fd.h"

namespace tessera::amd {

// The stream of the GPU or partition with this number of KFD's, such as the kernel's ioctl gives:
// readable by poll, does not block. It does not end with its writers. Throws std::runtime_error.
os::Fd ListenTo(const std::string& directory, uint64_t gpu_id);
bool IsListenedTo(const std::string& directory, uint64_t gpu_id);
// Writes a line, such as "3 1". Throws std::runtime_error if it does not fit.
void TellEvent(const std::string& directory, uint64_t gpu_id, const std::string& line);

}  // namespace tessera::amd
