// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_binder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "agent/cdi_file.h"
#include "backend/node_facts.h"
#include "base/characters.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "os/fd.h"

namespace tessera::agent {
namespace {

// kubelet writes its checkpoint anew when it begins: what is missing for a moment is not gone.
constexpr Duration kForgotten{60'000};

// kubelet tries again more often than that.
constexpr Duration kLately{60'000};

std::string Annotation(const Grant& grant, const char* key) {
  const auto found = grant.annotations.find(key);
  return found == grant.annotations.end() ? "" : found->second;
}

bool SameIds(const kubelet::CheckpointEntry& entry, std::vector<std::string> ids) {
  std::vector<std::string> held = entry.ids();
  std::ranges::sort(held);
  std::ranges::sort(ids);
  return held == ids;
}

// MiB; 0 where it is not known.
int64_t MemoryOf(const Offer& offer, const std::string& device) {
  for (const Device& each : offer.devices) {
    if (each.key.id == device) return each.memory;
  }
  return 0;
}

// What one share has of its device: of MiB and of percent.
struct Worth {
  std::string device;
  double memory = 0;
  double cores = 0;
};

// By the shares' ids. What was granted of a device is in equal parts its shares'.
std::map<std::string, Worth> WorthOfShares(const Pin& pin, const std::vector<std::string>& ids) {
  std::map<std::string, Worth> shares;
  for (const VgpuPart& part : pin.parts) {
    const auto is_its = [&](const std::string& id) { return DeviceOfShare(id) == part.device; };
    const auto count = static_cast<double>(std::ranges::count_if(ids, is_its));
    for (const std::string& id : ids) {
      if (!is_its(id)) continue;
      shares[id] = {part.device, static_cast<double>(part.memory) / count, part.cores / count};
    }
  }
  return shares;
}

// A directory of root's own that everybody may write in: no link, and nobody else's.
Status MakeOpenDirectory(const std::string& path, mode_t parents) {
  TRY(os::MakeDirectories(path.substr(0, path.rfind('/')), parents));
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return Fail(SystemError("cannot make the directory " + path, errno));
  }
  // Opened once: what was looked at is what is opened to all, though somebody may write beside it.
  const os::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() && errno != ENOTDIR && errno != ELOOP) {
    return Fail(SystemError("cannot open the directory " + path, errno));
  }
  struct stat info{};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) {
    return Fail(Reason::kPermission, "{} is no directory of the agent's user: remove it", path);
  }
  if ((info.st_mode & 0777U) != 0777U && fchmod(fd.get(), 0777) != 0) {
    return Fail(SystemError("cannot open to containers " + path, errno));
  }
  return {};
}

Status PutUnlessSame(const std::string& path, std::string_view text, mode_t mode) {
  const auto on_disk = os::ReadFile(path);
  if (on_disk && *on_disk == text) return {};
  return os::ReplaceFile(path, text, mode);
}

}  // namespace

// Read once for all that kubelet has admitted by then: of many containers at once each would read
// it.
Result<const std::vector<GrantBinder::Held>*> GrantBinder::ReadCheckpoint() {
  const os::FileInfo file = TRY(os::InspectTarget(checkpoint_));
  if (file == read_) return &held_;
  const std::string text = TRY(os::ReadFile(checkpoint_));
  kubelet::Checkpoint checkpoint = TRY(kubelet::ParseCheckpoint(text));
  held_.clear();
  for (kubelet::CheckpointEntry& entry : checkpoint.entries) {
    const Grant grant = entry.grant();
    held_.push_back({std::move(entry), Annotation(grant, kGrantAnnotation),
                     ReadParts(Annotation(grant, kPartsAnnotation))});
  }
  read_ = file;
  return &held_;
}

Status GrantBinder::Bind(const Binding& binding, const std::vector<std::string>& ids) {
  std::lock_guard lock(binding_);
  const auto all = ReadCheckpoint();
  if (!all) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not say which container this is: {}",
                binding.offer.resource, all.error().message);
  }
  bool known = false;
  for (const Held& held : **all) {
    if (held.entry.resource != binding.offer.resource || !SameIds(held.entry, ids)) continue;
    known = true;
    if (!held.name.empty()) TRY(BindOne(binding, held));
  }
  if (known) return {};
  return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}",
              binding.offer.resource, Join(ids, ","));
}

Status GrantBinder::BindOne(const Binding& binding, const Held& held) {
  if (!IsGrantName(held.name)) {
    return Fail(Reason::kGrantUnknown, "{}: kubelet's checkpoint has a grant named {}",
                held.entry.resource, Brief(held.name));
  }
  const Pin pin = TRY(PinFor(binding, held));
  TRY(MakeFiles(*binding.rendering.vgpu, held.name));
  if (!WritesCdi(binding.rendering)) return {};
  return WriteDocument(binding, pin, held.name);
}

Result<Pin> GrantBinder::PinFor(const Binding& binding, const Held& held) {
  const kubelet::CheckpointEntry& entry = held.entry;
  if (const auto pin = TRY(pins_.Find(held.name))) {
    const bool same = pin->resource == entry.resource && pin->pod_uid == entry.pod_uid &&
                      pin->container == entry.container;
    if (same) return *pin;
    return Fail(Reason::kGrantUnknown,
                "grant {} is bound to container {} of pod {}, not to {} of {}", held.name,
                pin->container, pin->pod_uid, entry.container, entry.pod_uid);
  }
  const Vgpu& vgpu = *binding.rendering.vgpu;
  Pin pin{.resource = entry.resource,
          .pod_uid = entry.pod_uid,
          .container = entry.container,
          .directory = fmt::format("{}/{}", FilesOf(vgpu).containers, held.name),
          .parts = TRY(PartsOf(binding, held))};
  TRY(CheckRoom(binding.offer, held, pin.parts));
  TRY(pins_.Add(held.name, pin));
  log::Info("a grant is bound", {{"resource", entry.resource},
                                 {"grant", held.name},
                                 {"pod", entry.pod_uid},
                                 {"container", entry.container},
                                 {"parts", PartsText(pin.parts)}});
  return pin;
}

// What Allocate said, whatever the configuration says by now; on devices that are well.
Result<std::vector<VgpuPart>> GrantBinder::PartsOf(const Binding& binding, const Held& held) {
  const std::vector<std::string> ids = held.entry.ids();
  if (!held.parts) return VgpuParts(binding.offer, *binding.rendering.vgpu, ids);
  for (const std::string& id : ids) {
    const Share* share = binding.offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kUnknownShare, "{}: {} is none of the virtual GPUs of this node",
                  binding.offer.resource, id);
    }
    TRY(CheckHealthy(binding.offer, *share));
  }
  return *held.parts;
}

// What the others have of each device, share by share. kubelet gives the shares of an init
// container to the containers of its pod that come after it: what the same pod has twice counts
// once, and what this container has of it not at all.
std::map<std::string, VgpuPart> GrantBinder::TakenBeside(const Held& mine) {
  std::map<std::pair<std::string, std::string>, Worth> shares;  // by pod and id
  const std::vector<std::string> own = mine.entry.ids();
  for (const Held& held : held_) {
    if (held.name == mine.name || !IsGrantName(held.name)) continue;
    const auto pin = pins_.Find(held.name);
    if (!pin || !*pin) continue;  // not bound yet: its turn to be checked comes
    const kubelet::CheckpointEntry& other = held.entry;
    for (const auto& [id, worth] : WorthOfShares(**pin, other.ids())) {
      if (other.pod_uid == mine.entry.pod_uid && std::ranges::count(own, id) > 0) continue;
      Worth& share = shares[{other.pod_uid, id}];
      share = {worth.device, std::max(share.memory, worth.memory),
               std::max(share.cores, worth.cores)};
    }
  }
  std::map<std::string, Worth> sums;
  for (const auto& [share, worth] : shares) {
    sums[worth.device].memory += worth.memory;
    sums[worth.device].cores += worth.cores;
  }
  std::map<std::string, VgpuPart> taken;
  for (const auto& [device, sum] : sums) {
    taken[device] = {device, std::llround(sum.memory), static_cast<int>(std::lround(sum.cores))};
  }
  return taken;
}

// Parts of equal sizes always fit. Where the configuration has changed under running pods, or says
// more than a device has, they may not.
Status GrantBinder::CheckRoom(const Offer& offer, const Held& mine,
                              std::span<const VgpuPart> parts) {
  std::map<std::string, VgpuPart> taken = TakenBeside(mine);
  for (const VgpuPart& part : parts) {
    const VgpuPart& held = taken[part.device];
    const int64_t memory = MemoryOf(offer, part.device);
    const bool fits = memory == 0 || held.memory + part.memory <= memory;
    if (fits && held.cores + part.cores <= kAllCores) continue;
    no_room_until_ = (clock_.Now() + kLately).time_since_epoch().count();
    return Fail(Reason::kNoRoom,
                "{}: device {} has {} MiB, of which {} MiB and {} percent of its compute time are "
                "taken: {} MiB and {} percent more do not fit",
                offer.resource, part.device, memory, held.memory, held.cores, part.memory,
                part.cores);
  }
  return {};
}

Status GrantBinder::MakeFiles(const Vgpu& vgpu, const std::string& name) const {
  const VgpuFiles files = FilesOf(vgpu);
  // Nobody of the host's gets at what containers leave there; the runtime does, as root.
  TRY(os::MakeDirectories(root_.Path(vgpu.directory), 0755));
  TRY(MakeOpenDirectory(root_.Path(fmt::format("{}/{}", files.containers, name)), 0700));
  TRY(MakeOpenDirectory(root_.Path(vgpu.lock_directory), 0755));
  if (!vgpu.enforced) return {};
  const auto library = os::InspectTarget(root_.Path(vgpu.library));
  if (!library || library->type != os::FileInfo::Type::kFile) {
    return Fail(Reason::kNotEnforced,
                "the library that holds containers to their part of a GPU is not at {}",
                vgpu.library);
  }
  return PutUnlessSame(root_.Path(files.preload), PreloadText(vgpu), 0644);
}

Status GrantBinder::WriteDocument(const Binding& binding, const Pin& pin,
                                  const std::string& name) const {
  const std::string path = binding.cdi_dir + "/" + GrantFileName(name);
  if (binding.described == nullptr) {
    // The one that was written before is whole.
    const auto on_disk = os::ReadFile(path);
    if (on_disk && IsCdiDocumentOf(GrantCdiKind(binding.rendering), *on_disk)) return {};
    return Fail(Reason::kNotChecked,
                "{}: what containers need of the driver has not been found yet since the agent "
                "began: kubelet tries again by itself",
                binding.offer.resource);
  }
  cdi::Document document =
      TRY(VgpuDocument(binding.offer, binding.rendering, pin.parts, name, binding.described));
  for (cdi::Node& node : document.devices.front().edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
  return PutCdiDocument(path, cdi::Text(document));
}

bool GrantBinder::AnyLacksRoom() const {
  return clock_.Now().time_since_epoch().count() < no_room_until_;
}

Result<std::set<std::string>> GrantBinder::Live() {
  std::lock_guard lock(binding_);
  std::set<std::string> live;
  for (const Held& held : *TRY(ReadCheckpoint())) live.insert(held.name);
  return live;
}

void GrantBinder::RemoveForgotten(const std::set<std::string>& cdi_dirs) {
  // A container may have left so many files that removing them takes longer than until the next
  // time: threads that others need do not queue up behind it.
  const std::unique_lock lock(removing_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const auto grants = pins_.Grants();
  if (!grants) return;
  const auto live = Live();
  if (!live) return;
  std::map<std::string, Steady> forgotten;
  const Steady now = clock_.Now();
  for (const std::string& name : *grants) {
    if (live->contains(name)) continue;
    const auto known = forgotten_.find(name);
    const Steady since = known == forgotten_.end() ? now : known->second;
    if (now - since >= kForgotten) {
      Remove(name, cdi_dirs);
    } else {
      forgotten[name] = since;
    }
  }
  forgotten_ = std::move(forgotten);
}

// The record last, by which the rest is found again.
void GrantBinder::Remove(const std::string& name, const std::set<std::string>& cdi_dirs) {
  const auto pin = pins_.Find(name);
  for (const std::string& directory : cdi_dirs) {
    (void)os::RemoveFile(directory + "/" + GrantFileName(name));
  }
  const bool own = pin && *pin && (*pin)->directory.ends_with("/" + name);
  const Status removed = own ? os::RemoveTree(root_.Path((*pin)->directory)) : Status();
  if (!removed) {
    return log::Warn("the directory of a grant that has ended stays, and is tried again",
                     removed.error(), {{"grant", name}});
  }
  pins_.Remove(name);
  log::Info("a grant has ended", {{"grant", name}});
}

}  // namespace tessera::agent
