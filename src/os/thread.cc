// SPDX-License-Identifier: Apache-2.0
#include "os/thread.h"

#include <system_error>
#include <thread>
#include <utility>

namespace tessera::os {

Status StartThread(std::function<void()> run) {
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error& error) {
    return Fail(Reason::kIo, "no thread: {}", error.what());
  }
  return {};
}

}  // namespace tessera::os
