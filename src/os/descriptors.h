// SPDX-License-Identifier: Apache-2.0
// How many files and sockets this process may have open. Any thread.
#pragma once

#include <cstddef>

namespace tessera::os {

// How many it may have.
size_t DescriptorLimit();

// Raises that as far as the process may by itself, up to kEnoughDescriptors. Returns what it was.
// More would make those slow that look at each they may have.
inline constexpr size_t kEnoughDescriptors = 65'536;
size_t RaiseDescriptorLimit();

// Whether another could be opened now.
bool HasDescriptorLeft();

}  // namespace tessera::os
