// SPDX-License-Identifier: Apache-2.0
// Answers kubelet's calls for one resource from a snapshot of its offer. No call waits on the
// endpoint's thread. Set waits for grants in progress: when it returns, every grant from the former
// snapshot has been reported to `granted`. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/recent_grant.h"
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
    std::string cdi_dir = {};                    // for late grants, as the next
    std::shared_ptr<const cdi::Parts> described = nullptr;
    // Null unless the backend prepares devices; then its preparations make the late grants good.
    // Fractions are bound before.
    std::shared_ptr<Preparations> preparations = nullptr;
    bool undescribed = false;  // `described` has not arrived yet
  };
  // Called before an Allocate is answered with these ids of the offer. An error refuses the
  // Allocate. Called under the allocator's mutex, so it must not wait.
  using Granted = std::function<Status(const Offer& offer, std::vector<std::string> ids)>;

  // `workers` run resets and bind grants. They are shared, like `binder` and `context`, because
  // gRPC may call the allocator after its resource has gone. `recent` is shared by all resources.
  Allocator(std::string resource, std::shared_ptr<os::Workers> workers,
            std::shared_ptr<GrantBinder> binder, std::shared_ptr<BindContext> context,
            http::Metrics& metrics, Granted granted,
            std::shared_ptr<RecentGrant> recent = std::make_shared<RecentGrant>());

  void Set(Snapshot snapshot);
  OfferPtr offer() const { return Get()->offer; }

  // Answers at once, from memory. A matched grant is the exception: if the pod watch has not
  // reported the pod yet, the answer takes up to half a second.
  void Allocate(const std::vector<std::string>& ids,
                std::function<void(Result<Grant>)> done) override;
  std::vector<std::string> Prefer(const std::vector<std::string>& available,
                                  const std::vector<std::string>& must_include, int size) override;
  // Resets the devices of the ids one after the other, on a worker. The container does not start if
  // a reset fails, or if an earlier reset of a device still runs. Then binds the late grants, or
  // has their devices prepared.
  void PreStart(const std::vector<std::string>& ids, std::function<bool()> wanted,
                std::function<void(Status)> done) override;

  // The fault of this node that kept the last container from starting. It expires after a while,
  // because kubelet does not retry for a pod that has gone. Any thread.
  std::optional<Error> start_fault() const;

 private:
  std::shared_ptr<const Snapshot> Get() const;
  // One container of an Allocate call.
  struct Allocation {
    std::vector<std::string> ids;
    std::function<void(Result<Grant>)> done;
    std::shared_ptr<const Snapshot> snapshot;
    std::chrono::steady_clock::time_point began;
  };
  // Finds the container. Blocks up to `within` for the pod watch to report it.
  Result<FractionMatch> MatchContainer(const Allocation& allocation, Duration within) const;
  Result<Grant> MakeGrant(const Allocation& allocation, const FractionMatch* match);
  void FinishAllocation(const Allocation& allocation, const Result<FractionMatch>* match);
  // One container that kubelet is about to make.
  struct Start {
    std::vector<std::string> ids;
    std::function<bool()> wanted;
    std::function<void(Status)> done;
    std::shared_ptr<const Snapshot> snapshot = nullptr;
    GrantBinder::Pods known = {};  // pods that this start has waited for
    std::string pod = {};          // its UID or name, once known
    Steady called = SystemClock().Now();
  };
  // This and the next run on a worker. No worker is held while a start waits for its pod.
  void RunStart(const std::shared_ptr<Start>& start);
  static Binding BindingOf(const Snapshot& snapshot);
  void Bound(const std::shared_ptr<Start>& start, Status bound);
  void Prepare(const std::shared_ptr<Start>& start, std::vector<Fraction> parts);
  void Bind(const std::shared_ptr<Start>& start);
  void PodArrived(const std::shared_ptr<Start>& start, const std::string& uid,
                  const Result<PodPtr>& pod);
  void FinishStart(const Start& start, Status status);
  // Ends a start after its binding, if it has one: the binder reads whose it is, on a worker.
  void RefuseBound(const std::shared_ptr<Start>& start, const Error& error);
  // Ends a start that never reached the binder. The binder reports its own refusals.
  void Refuse(const Start& start, const Error& error, const std::string& pod_uid = "");
  Status Reset(const Snapshot& snapshot, const std::vector<std::string>& ids,
               const std::function<bool()>& wanted);
  Status ResetOne(Backend& backend, const Device& device);

  const std::string resource_;
  const std::shared_ptr<os::Workers> workers_;
  // For matched grants alone: resets may occupy all of `workers_`.
  const std::shared_ptr<os::Workers> matchers_;
  const std::shared_ptr<GrantBinder> binder_;
  const std::shared_ptr<BindContext> context_;
  http::Metrics& metrics_;
  const Granted granted_;
  const std::shared_ptr<RecentGrant> recent_;
  Refusals refusals_;
  mutable Mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ TESSERA_GUARDED_BY(mutex_);
  std::set<std::string> resetting_ TESSERA_GUARDED_BY(mutex_);  // ids of devices
  std::optional<Error> fault_ TESSERA_GUARDED_BY(mutex_);
  Steady faulted_ TESSERA_GUARDED_BY(mutex_){};
};

}  // namespace tessera::agent
