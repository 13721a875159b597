// SPDX-License-Identifier: Apache-2.0
// The process's limit of open files and sockets. Any thread.
#pragma once

#include <cstddef>

namespace tessera::os {

size_t DescriptorLimit();

// Raises the limit as far as the process may, up to kEnoughDescriptors, and returns the former
// limit. A higher limit would slow programs that scan all possible descriptors.
inline constexpr size_t kEnoughDescriptors = 65'536;
size_t RaiseDescriptorLimit();

// Whether another descriptor can be opened now.
bool HasDescriptorLeft();

}  // namespace tessera::os
