// SPDX-License-Identifier: Apache-2.0
// Compares what we know with what kubelet knows: asks its pod-resources API and reads its
// checkpoint, or reads that alone where the API's directory was never there, whenever something
// happened, and on a timer: every `interval`, and ever less often, up to kLongestPause, while
// nothing changes and nobody wants to know. One question at a time, so kubelet's limit of ten at
// once is never near. One thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "http/metrics.h"
#include "kubelet/pod_resources.h"
#include "kubelet/root.h"
#include "node/node.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::agent {

// How much somebody wants to know what kubelet says.
enum class Interest : uint8_t { kNone, kUsual, kEager };

// How long to wait between an answer and the next question, after a pause of `last`.
Duration NextPause(Duration last, Duration interval, Interest interest);

class LedgerSync {
 public:
  struct Listener {
    std::function<void()> changed;  // holdings began or ended, or are known
    std::function<bool()> waiting;  // whether something depends on the answer, so that it must not
                                    // come ever less often
    // Whether a share that is given back is to be noticed before kubelet grants it again.
    std::function<bool()> eager;
    // Asked and answered, after `changed`. With how many healthy ids of each resource kubelet can
    // hand out; nothing where it does not say.
    std::function<void(const std::optional<std::map<std::string, int>>& allocatable)> compared;
  };

  LedgerSync(os::Loop& loop, os::Workers& workers, Node& node, http::Metrics& metrics,
             const kubelet::Directories& directories, Duration interval, Listener listener);

  void SetInterval(Duration interval) { pause_ = interval_ = interval; }
  // Only holdings of these resources concern us.
  void SetResources(std::set<std::string> resources) { resources_ = std::move(resources); }
  // Asks after `delay`, or sooner if that is planned already; after the question under way, if any.
  void AskSoon(Duration delay);
  // Somebody looks at the answer: asks, unless that was done within the last `interval`.
  void AskIfOld();
  // Why kubelet could not be asked the last time; nothing when it could, or never was.
  const std::optional<Error>& error() const { return error_; }

 private:
  void Ask();
  void Answered(const Result<kubelet::PodResourcesView>& view);
  bool HasPodResources() const;
  bool Reconcile(std::vector<Holding> told);
  bool ReadCheckpoint();
  bool AllReconciled() const;
  std::vector<Holding> OwnHoldings(std::vector<Holding> holdings) const;

  os::Workers& workers_;
  Node& node_;
  http::Metrics& metrics_;
  const kubelet::Directories directories_;
  Duration interval_;
  const Listener listener_;
  std::set<std::string> resources_;
  std::unique_ptr<kubelet::PodResourcesCall> call_;
  std::vector<Holding> checkpoint_;  // as last read whole
  std::optional<Error> error_;
  bool told_ = false;   // the API has answered once
  Duration pause_;      // from the last answer to the next question
  bool again_ = false;  // asked for during the question under way
  Steady answered_{};
  os::Alarm next_;
  os::Mailbox<LedgerSync> mailbox_;
};

}  // namespace tessera::agent
