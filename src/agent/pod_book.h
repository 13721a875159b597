// SPDX-License-Identifier: Apache-2.0
// The pods of this node as the API server was last known to have them, for whoever binds grants,
// and for whoever is to hear what became of their containers. Written on the API server's thread,
// read on any. Shared: it outlives both.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/hami_protocol.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/pod.h"

namespace tessera::agent {

using PodPtr = std::shared_ptr<const kube::Pod>;

class PodBook {
 public:
  // Called once, on any thread.
  using Answer = std::function<void(const Result<PodPtr>&)>;
  // Has the pod of this UID looked for, for so long and then once more in a list of all (as
  // kube::NodePods::Await). Any thread; waits for nothing.
  using Seek = std::function<void(const std::string& uid, Duration within, Answer answer)>;

  // By the UID that kubelet knows it by; null where it is not known.
  PodPtr Find(std::string_view uid) const;
  // Those whose devices a scheduler has chosen and that have not been told yet to have them.
  std::vector<PodPtr> Waiting() const;
  // As Find, but one that is not known yet is waited for. kNotPlaced where no API server could say
  // which pod it is, and why it cannot be had.
  void Await(const std::string& uid, Duration within, Answer answer);

  // What became of a container, for who tells its scheduler and its people. Waits for nothing.
  void Bound(const HamiProtocol::Given& given) const;
  void Refused(const HamiProtocol::Refusal& refusal) const;

  // Of the API server, each for any thread.
  struct Listener {
    Seek seek{};
    std::function<void(const HamiProtocol::Given&)> bound{};
    std::function<void(const HamiProtocol::Refusal&)> refused{};
  };
  // What was bound before, and may not have been told: told to each listener when it is set. Called
  // by who sets either.
  using Former = std::function<std::vector<HamiProtocol::Given>()>;
  void SetFormer(Former former);
  // Null: there is no API server.
  void SetListener(std::shared_ptr<const Listener> listener);
  void Put(const kube::Pod& pod);
  void Take(const kube::Pod& pod);

 private:
  std::shared_ptr<const Listener> GetListener() const;
  void TellFormer() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Listener> listener_;  // under mutex_, as what follows
  Former former_;
  std::map<std::string, PodPtr, std::less<>> pods_;
};

}  // namespace tessera::agent
