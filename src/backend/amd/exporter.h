// SPDX-License-Identifier: Apache-2.0
// What AMD's metrics exporter says of the health of GPUs, where it runs on the node. It counts
// errors that sysfs does not have. Only its word "unhealthy" counts, as it knows not every GPU.
// Source: ROCm/device-metrics-exporter, service MetricsService.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backend/kind.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "os/worker.h"

namespace tessera::amd {

// Whether a GPU is unhealthy, by PCI address in lower case. A partition has its number in place of
// the function: "0000:05:00.3".
using ExporterWords = std::map<std::string, bool, std::less<>>;

// The words of an answer of List; nothing, if the bytes are none. Pure.
std::optional<ExporterWords> ParseExporterWords(std::string_view answer);

// Whether these words take the part out. A GPU of which no partition is named speaks for all its
// parts. `is_other`: whether an address is another GPU's. Pure.
bool SaysUnhealthy(const ExporterWords& words, const std::string& address, unsigned partition,
                   const std::function<bool(std::string_view)>& is_other);

// Asks the exporter; on a worker. Newer exporters have another package than older ones.
Result<ExporterWords> AskExporter(CallUnix call, const std::string& socket_path);

// The exporter's last words. They hold while it hangs or refuses, and for kHolds once its socket is
// gone. AskSoon: one thread, which makes and destroys it; the others: any thread.
class ExporterWatch {
 public:
  static constexpr Duration kEvery{10'000};
  static constexpr Duration kHolds{600'000};
  static constexpr Duration kFirst{1'000};
  using Ask = std::function<Result<ExporterWords>(const std::string& socket_path)>;
  // `socket_path`: where this process sees it; empty: no exporter is asked. `clock` outlives it.
  ExporterWatch(std::string socket_path, Ask ask, const Clock& clock);

  // Asks on a worker, if the last question is kEvery ago and has ended. Waits for nothing.
  void AskSoon();
  // Waits until the first question has ended, kFirst after its begin at most.
  void AwaitFirst() const;
  // Empty: none are known.
  std::shared_ptr<const ExporterWords> words() const;

 private:
  struct State;  // shared with the worker
  void Log(const std::optional<Error>& trouble);

  const std::string socket_path_;
  const Ask ask_;
  const Clock& clock_;
  const std::shared_ptr<State> state_;
  std::optional<Steady> asked_at_;
  std::optional<Reason> trouble_;  // as last logged
  bool answers_ = false;           // likewise
  os::Workers workers_{1};
};

}  // namespace tessera::amd
