// SPDX-License-Identifier: Apache-2.0
// The end of grants: removes the files and records of grants that kubelet has forgotten.
#include "base/log.h"
#include "fraction/grant_binder.h"
#include "fraction/grant_files.h"

namespace tessera {
namespace {

// kubelet rewrites its checkpoint when it starts, so a grant that is briefly missing is not gone.
constexpr Duration kForgotten{60'000};

}  // namespace

void GrantBinder::RemoveForgotten(const std::set<std::string>& cdi_dirs,
                                  const std::set<std::string>& containers) {
  ForgetEnded(cdi_dirs);
  leftovers_.Remove(ContainersOf(containers));
}

void GrantBinder::ForgetEnded(const std::set<std::string>& cdi_dirs) {
  if (!removing_.try_lock()) return;
  const MutexLock lock(removing_, std::adopt_lock);
  const auto grants = store_.Grants();
  if (!grants) return;
  const auto live = LiveGrants();
  if (!live) {
    forgotten_.clear();  // only readable checkpoints count toward kForgotten
    return;
  }
  std::map<std::string, Steady> forgotten;
  const Steady now = clock_.Now();
  const std::set<std::string> ended = EndedGrants();
  for (const std::string& name : *grants) {
    const bool over = !live->contains(name) || ended.contains(name);
    for (const std::string& directory : cdi_dirs) {
      documents_.Sweep(directory + "/" + GrantFileName(name), over);
    }
    if (live->contains(name)) continue;
    const auto known = forgotten_.find(name);
    const Steady since = known == forgotten_.end() ? now : known->second;
    if (now - since >= kForgotten) {
      const Status gone = ForgetGrant(name, cdi_dirs);
      if (gone) continue;
      log::Warn("cannot remove the files of an ended grant; the agent retries", gone.error(),
                {{"grant", name}});
    }
    forgotten[name] = now - since >= kForgotten ? now : since;
  }
  forgotten_ = std::move(forgotten);
}

std::set<std::string> GrantBinder::EndedGrants() const {
  std::set<std::string> ended;
  for (const auto& [name, record] : store_.known()) {
    const PodPtr pod = context_->pods.Find(record->pod_uid);
    if (pod != nullptr && pod->HasEnded()) ended.insert(name);
  }
  return ended;
}

std::optional<GrantSpace::SpaceReport> GrantBinder::LookAtSpace(
    const std::set<std::string>& containers) {
  return space_.CheckDirectories(ContainersOf(containers));
}

// Includes the directories of former configurations' grants.
std::set<std::string> GrantBinder::ContainersOf(const std::set<std::string>& configured) {
  const MutexLock lock(containers_mutex_);
  containers_.insert(configured.begin(), configured.end());
  return containers_;
}

Status GrantBinder::RemoveAll(const std::set<std::string>& cdi_dirs,
                              const std::set<std::string>& containers) {
  Status first;
  if (store_.any()) {
    for (const std::string& name : TRY(store_.Grants())) {
      const Status gone = ForgetGrant(name, cdi_dirs);
      if (first && !gone) first = gone;
    }
  }
  const Status removed = Leftovers::RemoveAll(ContainersOf(containers));
  return first ? removed : first;
}

// Removes the record last: after a failure or a crash, the next attempt finds the rest by it.
Status GrantBinder::ForgetGrant(const std::string& name, const std::set<std::string>& cdi_dirs) {
  const auto record = store_.Find(name);
  const std::string uid = record && *record ? (*record)->pod_uid : "unknown";
  const std::string pod = context_->pods.NameOf(uid);
  for (const std::string& directory : cdi_dirs) {
    documents_.Remove(directory + "/" + GrantFileName(name));
  }
  times_.Remove(name);
  if (record && *record) {
    const std::string directory = root_.Path((*record)->directory);
    if (!(*record)->gate.empty()) (void)os::RemoveFile(root_.Path((*record)->gate));
    RemoveLimits(root_, name, **record);
    // If kubelet lost its checkpoint, a container has a second grant with the same directory.
    const bool own = IsOwnDirectory(**record, name) && !store_.IsShared((*record)->directory, name);
    if (own) {
      ContainersOf({directory.substr(0, directory.rfind('/'))});
      TRY(Leftovers::PutAside(directory));
    }
    const std::string locks = root_.Path(LocksOf(**record, name));
    ContainersOf({locks.substr(0, locks.rfind('/'))});
    TRY(Leftovers::PutAside(locks));
  }
  store_.Remove(name);
  log::Info("a grant has ended", {{"grant", name}, {"pod", pod}, {"uid", uid}});
  return {};
}

}  // namespace tessera
