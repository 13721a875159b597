// SPDX-License-Identifier: Apache-2.0
#include "os/thread.h"

#include <latch>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace tessera::os {

Status StartThread(std::function<void()> run) {
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error& error) {
    return Fail(Reason::kIo, "cannot start a thread: {}", error.what());
  }
  return {};
}

void InParts(size_t count, const std::function<void(size_t begin, size_t end)>& run,
             size_t enough) {
  constexpr size_t kParts = 4;
  if (count < enough) return run(0, count);
  std::latch others(kParts - 1);
  for (size_t part = 1; part < kParts; ++part) {
    const auto one = [&others, &run, begin = count * part / kParts,
                      end = count * (part + 1) / kParts] {
      run(begin, end);
      others.count_down();
    };
    if (!StartThread(one)) one();
  }
  run(0, count / kParts);
  others.wait();
}

void ThreadOnce::Start(std::function<void()> run, std::string_view missed) {
  if (started_) return;
  const Status begun = StartThread(std::move(run));
  started_ = begun.has_value();
  if (!begun) log::Warn(missed, begun.error());
}

}  // namespace tessera::os
