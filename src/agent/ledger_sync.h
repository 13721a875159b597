// SPDX-License-Identifier: Apache-2.0
// Keeps the ledger equal to kubelet's view. It asks kubelet's pod-resources API and reads kubelet's
// checkpoint. Where the API's directory never existed, the checkpoint alone counts.
//
// It asks on demand and on a timer. The pause is `interval`, and doubles up to kLongestPause while
// holdings do not change and the agent does not depend on the answer. Only one call runs at a time,
// so kubelet's limit of ten concurrent calls is never near. Owned by the agent. One thread: the
// loop's.
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
#include "os/files.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::agent {

// How urgently the agent needs kubelet's answer.
enum class Interest : uint8_t { kNone, kUsual, kEager };

// The pause between an answer and the next call; the previous pause was `last`.
Duration NextPause(Duration last, Duration interval, Interest interest);

class LedgerSync {
 public:
  struct Listener {
    std::function<void()> changed;  // holdings began or ended, or are now known
    // True while the agent depends on the answer: the pause must not grow.
    std::function<bool()> waiting;
    // True if the agent must see a returned share before kubelet grants it again.
    std::function<bool()> eager;
    // kubelet has answered; called after `changed`. `allocatable`: healthy ids by resource; nothing
    // if kubelet does not report them.
    std::function<void(const std::optional<std::map<std::string, int>>& allocatable)> compared;
  };

  LedgerSync(os::Loop& loop, os::Workers& workers, Node& node, http::Metrics& metrics,
             const kubelet::Directories& directories, Duration interval, Listener listener);

  void SetInterval(Duration interval) { pause_ = interval_ = interval; }
  // Holdings of other resources are ignored.
  void SetResources(std::set<std::string> resources) { resources_ = std::move(resources); }
  // Asks after `delay`, or earlier if an earlier call is scheduled. A call in progress ends first.
  void AskSoon(Duration delay);
  // For a reader of the answer: asks, unless the last answer is younger than `interval`.
  void AskIfOld();
  // Why the last call failed; nothing if it succeeded, or there was none.
  const std::optional<Error>& error() const { return error_; }

 private:
  void Ask();
  void Answered(const Result<kubelet::PodResourcesView>& view);
  bool HasPodResources() const;
  void NoteRestart();
  bool Reconcile(std::vector<Holding> told);
  Status ReadCheckpoint();
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
  std::vector<Holding> checkpoint_;  // the last that could be read
  // kubelet makes its socket anew at each start: the one that was asked, and that answered last.
  std::optional<os::FileInfo> asked_;
  std::optional<os::FileInfo> answered_by_;
  std::optional<Error> error_;
  bool told_ = false;   // the API has answered once
  Duration pause_;      // from the last answer to the next call
  bool again_ = false;  // another call was requested during the current one
  Steady answered_{};
  os::Alarm next_;
  os::Mailbox<LedgerSync> mailbox_;
};

}  // namespace tessera::agent
