// SPDX-License-Identifier: Apache-2.0
// Descriptors that a child process opens, and hands to this one before it ends. For drivers that
// tie what they keep to the process that opened a device, and keep it until that process ends.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

// Opens the descriptors in the child. It must call only async-signal-safe functions, as this
// process has threads (signal-safety(7)), and allocate nothing.
class LentOpener {
 public:
  // The descriptor of this number, or an errno below 0.
  virtual int Open(size_t number) = 0;

 protected:
  ~LentOpener() = default;
};

// The results of Open(0) to Open(count - 1), each a descriptor or an errno below 0. The child has
// no descriptor of this process, and ends with the calling thread. kTimedOut: it did not answer in
// time and was killed, or one from before cannot be killed. Any thread; waits for the child.
Result<std::vector<Result<Fd>>> OpenInChild(LentOpener& opener, size_t count, Duration limit);

}  // namespace tessera::os
