// SPDX-License-Identifier: Apache-2.0
// The pods of this node as the API server was last known to have them, for whoever binds grants,
// and for whoever is to hear what became of their containers. Written on the API server's thread,
// read on any. Shared: it outlives both.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/bind/hami_protocol.h"
#include "agent/bind/refusal_history.h"
#include "base/clock.h"
#include "base/result.h"
#include "grant/vgpu.h"
#include "kube/pod.h"

namespace tessera::agent {

using kube::PodPtr;

class PodBook {
 public:
  // Called once, on any thread.
  using Answer = std::function<void(const Result<PodPtr>&)>;
  // Has the pod of this UID looked for, for so long and then once more in a list of all (as
  // kube::NodePods::Await). Any thread; waits for nothing.
  using Seek = std::function<void(const std::string& uid, Duration within, Answer answer)>;

  // By the UID that kubelet knows it by, also of one that has ended; null where it is not known.
  PodPtr Find(std::string_view uid) const;
  // By NAMESPACE/NAME; no static pod's.
  PodPtr FindNamed(std::string_view name) const;
  // NAMESPACE/NAME for people, or the UID where that alone is known.
  std::string NameOf(const std::string& uid) const;
  // Those whose devices a scheduler has chosen and that have not been told yet to have them.
  std::vector<PodPtr> Waiting() const;
  // As Find, but one that is not known yet is waited for. kNotPlaced where no API server could say
  // which pod it is, and why it cannot be had.
  void Await(const std::string& uid, Duration within, Answer answer);

  // Containers that kubelet was answered for: by the UIDs of their pods, and their names.
  using Answered = std::set<std::pair<std::string, std::string>>;
  using Match = std::function<Result<VgpuMatch>(std::span<const PodPtr>, const Answered&)>;
  // Asks `match` which container of the pods that neither run nor have ended is being answered for,
  // and counts it as answered. While that comes to kNotMatched and there is an API server that may
  // tell of more, it is asked anew with every change, for so long: the watch may come after
  // kubelet.
  Result<VgpuMatch> Claim(const std::string& resource, const Match& match, Duration within);
  // All that kubelet's checkpoint has, by resource.
  void SetHeld(std::map<std::string, Answered> held);
  // The resources whose containers are claimed.
  void SetClaimed(std::set<std::string> resources);
  // Whether a container of the pod is still to be claimed.
  bool AwaitsClaim(const kube::Pod& pod) const;

  // What became of a container, for who tells its scheduler and its people. Waits for nothing.
  void Bound(const HamiProtocol::Given& given) const;
  void Refused(const HamiProtocol::Refusal& refusal) const;

  // Of any container, those of which nobody else is told as well: kept with its pod's name.
  void Keep(KeptRefusal refusal);
  void EndRefusals(const std::string& pod_uid, const std::string& container) {
    refusals_.End(pod_uid, container);
  }
  std::vector<KeptRefusal> KeptRefusals() const { return refusals_.All(); }

  // Of the API server, each for any thread.
  struct Listener {
    Seek seek{};
    std::function<void(const HamiProtocol::Given&)> bound{};
    std::function<void(const HamiProtocol::Refusal&)> refused{};
    std::function<void(const std::string& pod_uid)> claimed{};  // one of its containers; or empty
  };
  // What was bound before, and may not have been told: told to each listener when it is set. Called
  // by who sets either.
  using Former = std::function<std::vector<HamiProtocol::Given>()>;
  void SetFormer(Former former);
  // Null: there is no API server.
  void SetListener(std::shared_ptr<const Listener> listener);
  void Put(const kube::Pod& pod) { Put(std::make_shared<const kube::Pod>(pod)); }
  void Put(PodPtr pod);
  void Take(const kube::Pod& pod);
  // One that was taken has ended: what it had is free, while kubelet has its containers still. The
  // last ones are known.
  void End(const PodPtr& pod);

 private:
  std::shared_ptr<const Listener> GetListener() const;
  void TellFormer() const;
  // Under mutex_, as the next.
  Result<VgpuMatch> ClaimNow(const std::string& resource, const Match& match);
  bool IsAnswered(const std::string& resource, const std::string& uid,
                  const std::string& container) const;

  RefusalHistory refusals_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Listener> listener_;  // under mutex_, as what follows
  Former former_;
  std::map<std::string, PodPtr, std::less<>> pods_;
  std::deque<PodPtr> ended_;                 // without what they say
  std::map<std::string, Answered> held_;     // by resource, as kubelet has written it
  std::map<std::string, Answered> claimed_;  // likewise, in this process; of pods that are there
  std::set<std::string> claims_;             // resources whose containers are claimed
  std::condition_variable changed_;          // pods_
};

}  // namespace tessera::agent
