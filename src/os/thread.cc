// SPDX-License-Identifier: Apache-2.0
#include "os/thread.h"

#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace tessera::os {

Status StartThread(std::function<void()> run) {
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error& error) {
    return Fail(Reason::kIo, "no thread: {}", error.what());
  }
  return {};
}

void ThreadOnce::Start(std::function<void()> run, std::string_view missed) {
  if (started_) return;
  const Status begun = StartThread(std::move(run));
  started_ = begun.has_value();
  if (!begun) log::Warn(missed, begun.error());
}

}  // namespace tessera::os
