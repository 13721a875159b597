// SPDX-License-Identifier: Apache-2.0
// Answers kubelet's calls for one resource, out of a snapshot of its offer. No call waits on
// kubelet's thread. Set waits for grants under way: once it has returned, all that was granted out
// of the former snapshot has been told. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/mutex.h"
#include "binding/refusals.h"
#include "choose/choose.h"
#include "fraction/bind_context.h"
#include "fraction/grant_binder.h"
#include "grant/grant.h"
#include "http/metrics.h"
#include "kubelet/plugin_server.h"
#include "os/worker.h"
#include "prepare/preparations.h"

namespace tessera::agent {

class Allocator : public kubelet::PluginHandler, public std::enable_shared_from_this<Allocator> {
 public:
  struct Snapshot {
    OfferPtr offer = std::make_shared<Offer>();
    Rendering rendering = {};
    Placement placement = Placement::kSpread;
    std::shared_ptr<Backend> backend = nullptr;  // for resets
    std::string cdi_dir = {};                    // for binding late grants, as the next
    std::shared_ptr<const cdi::Parts> described = nullptr;
    // Where the backend prepares for grants: they are bound by what it has prepared.
    std::shared_ptr<Preparations> preparations = nullptr;
    bool undescribed = false;  // `described` is still to come
  };
  // An Allocate is answered with these ids of the offer, unless it says why not; called on the
  // endpoint's thread, and must not wait.
  using Granted = std::function<Status(const Offer& offer, std::vector<std::string> ids)>;

  // `workers` run resets and bind grants; shared, as `binder` and `context` are, for gRPC may call
  // the allocator after its resource has gone.
  Allocator(std::string resource, std::shared_ptr<os::Workers> workers,
            std::shared_ptr<GrantBinder> binder, std::shared_ptr<BindContext> context,
            http::Metrics& metrics, Granted granted);

  void Set(Snapshot snapshot);
  OfferPtr offer() const { return Get()->offer; }

  // Answers at once, out of memory. Only where it is to be known which pod it is for, and the watch
  // of the node's pods has not told of it yet, the answer comes within half a second.
  void Allocate(const std::vector<std::string>& ids,
                std::function<void(Result<Grant>)> done) override;
  std::vector<std::string> Prefer(const std::vector<std::string>& available,
                                  const std::vector<std::string>& must_include, int size) override;
  // Resets the devices behind the ids, one after the other, on a worker; a reset that fails keeps
  // the container from starting, and so does one that is still under way. Then binds late grants,
  // or has what they need prepared.
  void PreStart(const std::vector<std::string>& ids, std::function<bool()> wanted,
                std::function<void(Status)> done) override;

  // Why files of this node kept the last container from being started, for a while: kubelet tries
  // again meanwhile, unless its pod has gone. Any thread.
  std::optional<Error> start_fault() const;

 private:
  std::shared_ptr<const Snapshot> Get() const;
  // A container that kubelet allocates for.
  struct Allocation {
    std::vector<std::string> ids;
    std::function<void(Result<Grant>)> done;
    std::shared_ptr<const Snapshot> snapshot;
    std::chrono::steady_clock::time_point began;
  };
  // Which container it is, if the watch tells within that time; may block for so long.
  Result<FractionMatch> MatchContainer(const Allocation& allocation, Duration within) const;
  Result<Grant> MakeGrant(const Allocation& allocation, const FractionMatch* match);
  void FinishAllocation(const Allocation& allocation, const Result<FractionMatch>* match);
  // A container that is about to be made.
  struct Start {
    std::vector<std::string> ids;
    std::function<bool()> wanted;
    std::function<void(Status)> done;
    std::shared_ptr<const Snapshot> snapshot = nullptr;
    GrantBinder::Pods known = {};  // that were waited for
    std::string pod = {};          // by its UID or name, once that is known
    Steady called = SystemClock().Now();
  };
  // On a worker, as the next. A pod that is not known yet is waited for without one.
  void RunStart(const std::shared_ptr<Start>& start);
  static Binding BindingOf(const Snapshot& snapshot);
  void Prepare(const std::shared_ptr<Start>& start);
  void Bind(const std::shared_ptr<Start>& start);
  void PodArrived(const std::shared_ptr<Start>& start, const std::string& uid,
                  const Result<PodPtr>& pod);
  void FinishStart(const Start& start, Status status);
  // The same where the binder, which tells of refusals by itself, was not asked.
  void Refuse(const Start& start, const Error& error, const std::string& pod_uid = "");
  Status Reset(const Snapshot& snapshot, const std::vector<std::string>& ids,
               const std::function<bool()>& wanted);
  Status ResetOne(Backend& backend, const Device& device);

  const std::string resource_;
  const std::shared_ptr<os::Workers> workers_;
  // Apart from resets, which may take all of those.
  const std::shared_ptr<os::Workers> matchers_;
  const std::shared_ptr<GrantBinder> binder_;
  const std::shared_ptr<BindContext> context_;
  http::Metrics& metrics_;
  const Granted granted_;
  Refusals refusals_;
  mutable Mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ TESSERA_GUARDED_BY(mutex_);
  std::set<std::string> resetting_ TESSERA_GUARDED_BY(mutex_);  // ids of devices
  std::optional<Error> fault_ TESSERA_GUARDED_BY(mutex_);
  Steady faulted_ TESSERA_GUARDED_BY(mutex_){};
};

}  // namespace tessera::agent
