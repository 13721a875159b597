// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vnpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "backend/node_facts.h"
#include "base/log.h"
#include "base/text.h"
#include "hami/part_templates.h"

namespace tessera::ascend {
namespace {

using dcmi::Library;

// The numbers of a chip's vNPUs, by Huawei's manual of npu-smi: 16 of them, of which a 310P has the
// first 8. The driver chooses from below, so the agent chooses from above.
constexpr uint32_t kFirstId = 100, kIdsOfChip = 16;
constexpr std::array<uint32_t, kIdsOfChip> kChoices = {7,  6,  5,  4,  3,  2,  1, 0,
                                                       15, 14, 13, 12, 11, 10, 9, 8};
constexpr Duration kPause{5};
constexpr Duration kPatience{10'000};  // of an undoing, with a chip whose other call hangs

std::string NodeOf(uint32_t id) {
  return fmt::format("/dev/vdavinci{}", id);
}

// A container knows a vNPU as a chip of the same number.
std::string NodeOfChip(uint32_t number) {
  return fmt::format("/dev/davinci{}", number);
}

bool Has(const std::vector<uint32_t>& ids, std::optional<uint32_t> id) {
  return id && std::ranges::count(ids, *id) > 0;
}

bool IsRefusal(const dcmi::Failure& failure) {
  return failure.IsUnsupported() || failure.code == dcmi::kInvalidParameter ||
         failure.code == dcmi::kBusy;
}

// The first number that no vNPU of the chip has.
std::optional<uint32_t> Choose(uint32_t physical, const std::vector<uint32_t>& taken) {
  for (const uint32_t choice : kChoices) {
    const uint32_t id = kFirstId + kIdsOfChip * physical + choice;
    if (!Has(taken, id)) return id;
  }
  return std::nullopt;
}

// The driver may make the node a little later than the vNPU.
Status AwaitNode(const os::Root& root, const std::string& node, const PrepareRequest& request) {
  while (!os::Exists(root.Path(node))) {
    if (SystemClock().Now() >= request.deadline || (request.wanted && !request.wanted())) {
      return Fail(Reason::kTimedOut, "the driver made no {}", node);
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

Result<dcmi::Turns::Turn> TurnAt(dcmi::Session& session, dcmi::Place place, Steady until) {
  auto turn = session.vnpu_turns.Take(place, until);
  if (turn) return *std::move(turn);
  return Fail(Reason::kTimedOut, "another call for a vNPU of card {} has not ended", place.card);
}

void WarnOfLeftOver(const OwnVnpu& vnpu, const std::vector<std::string>& ids) {
  log::Warn("a vNPU may be left over, and is left to a person",
            {{"template", vnpu.name},
             {"device", vnpu.device},
             {"vnpu", ids.empty() ? "unknown" : Join(ids, " or ")}});
}

}  // namespace

Result<uint32_t> VnpuPreparer::Make(const Library& library, const ChipPlace& chip,
                                    const PrepareRequest& request, const std::string& device,
                                    const std::string& name) const {
  const dcmi::Turns::Turn turn = TRY(TurnAt(*session_, chip.place, request.deadline));
  const std::string& grant = request.grant;
  const auto there = library.Vnpus(chip.place);
  if (!there) return Fail(Reason::kUnreadable, "{}", there.error().Text());
  std::vector<uint32_t> taken = *there;
  // A number with a record stays that record's until its grant has ended.
  const OwnVnpus known = TRY(records_.Now());
  for (const auto& [of, other] : known) {
    if (other.id) taken.push_back(*other.id);
  }
  OwnVnpu vnpu{.place = chip.place,
               .id = Choose(chip.physical, taken),
               .name = name,
               .device = device,
               .pod = request.pod_uid};
  if (!vnpu.id) return Fail(Reason::kUnavailable, "the chip has no room for a vNPU");
  TRY(records_.Put(grant, vnpu));
  auto made = library.CreateVnpu(chip.place, *vnpu.id, name);
  if (!made && (made.error().IsUnsupported() || made.error().code == dcmi::kInvalidParameter)) {
    // A driver that chooses itself.
    vnpu.id.reset();
    TRY(records_.Put(grant, vnpu));
    made = library.CreateVnpu(chip.place, dcmi::kAnyId, name);
  }
  if (!made) {
    TRY(Forget(library, grant, vnpu, made.error()));
    return Fail(Reason::kUnavailable, "cannot make a vNPU of template {} on chip {}: {}", name,
                chip.physical, made.error().Text());
  }
  // The driver gives a number away only if the earlier vNPU is gone.
  std::string former;
  for (const auto& [of, other] : known) {
    if (other.id != *made) continue;
    if (other.state == VnpuState::kMade || other.state == VnpuState::kLost) former = of.first;
    TRY(records_.Lose(of.first, other));
  }
  vnpu.id = *made;
  vnpu.state = VnpuState::kMade;
  const Status written = records_.Put(grant, vnpu);
  if (!written) {
    (void)library.DestroyVnpu(chip.place, *made);
    return Fail(written.error());
  }
  if (former.empty()) return *made;
  // A container of that grant that starts again would get this vNPU.
  return Fail(Reason::kUnavailable,
              "the driver made vNPU {}, whose number grant {} has until its pod has ended: another "
              "program destroyed that grant's",
              *made, former);
}

// After a failed creation. Unless it is sure that nothing was made, a vNPU of that number may be
// the agent's or another program's.
Status VnpuPreparer::Forget(const Library& library, const std::string& grant, const OwnVnpu& vnpu,
                            const dcmi::Failure& failure) const {
  if (IsRefusal(failure)) return records_.Drop(grant, vnpu.device);
  const auto ids = library.Vnpus(vnpu.place);
  if (vnpu.id && ids && !Has(*ids, vnpu.id)) return records_.Drop(grant, vnpu.device);
  WarnOfLeftOver(vnpu, vnpu.id ? std::vector{std::to_string(*vnpu.id)} : Strays(library, vnpu));
  return records_.Lose(grant, vnpu).map([](bool) {});
}

// The vNPUs of this template and chip that no record has.
std::vector<std::string> VnpuPreparer::Strays(const Library& library, const OwnVnpu& vnpu) const {
  std::vector<std::string> strays;
  const auto known = records_.Now();
  const auto ids = library.Vnpus(vnpu.place);
  if (!known || !ids) return strays;
  for (const uint32_t id : *ids) {
    const bool is_known =
        std::ranges::any_of(*known, [&](const auto& one) { return one.second.id == id; });
    if (!is_known && NameOf(library, vnpu.place, id) == vnpu.name) {
      strays.push_back(std::to_string(id));
    }
  }
  return strays;
}

std::optional<std::string> VnpuPreparer::NameOf(const Library& library, dcmi::Place place,
                                                uint32_t id) {
  const auto query = library.Vnpu(place, id);
  if (!query) return std::nullopt;
  return std::string(query->name, strnlen(query->name, sizeof(query->name)));
}

Status VnpuPreparer::CheckUndivided(const Library& library, const ChipPlace& chip,
                                    Steady until) const {
  const dcmi::Turns::Turn turn = TRY(TurnAt(*session_, chip.place, until));
  const auto ids = library.Vnpus(chip.place);
  if (!ids) {
    const dcmi::Failure& why = ids.error();
    const bool has_none = why.IsUnsupported() || why.code == dcmi::kInvalidParameter;
    if (!has_none) return Fail(Reason::kUnreadable, "{}", why.Text());
  }
  std::vector<uint32_t> others = ids.value_or(std::vector<uint32_t>());
  const OwnVnpu* own = nullptr;
  const OwnVnpus known = TRY(records_.Now());
  for (const auto& [of, vnpu] : known) {
    if (vnpu.place != chip.place || vnpu.state == VnpuState::kLost) continue;
    own = &vnpu;
    std::erase(others, vnpu.id);
  }
  if (!others.empty()) {
    return Fail(Reason::kUnavailable,
                "chip {} has vNPU {} of another program: destroy it with 'npu-smi set -t "
                "destroy-vnpu -i {} -c {} -v {}'",
                chip.physical, others.front(), chip.place.card, chip.place.device, others.front());
  }
  if (own == nullptr) return {};
  return Fail(Reason::kUnavailable,
              "chip {} has a vNPU of pod {}, which is destroyed a while after that pod has ended",
              chip.physical, own->pod);
}

// A grant's part may be older than the configuration.
Result<std::string> VnpuPreparer::TemplateFor(const PrepareRequest& request, size_t device) const {
  if (vgpu_ == nullptr) return template_;
  const int64_t memory = request.parts[device].memory;
  const PartTemplate* made = hami::TemplateOf(*vgpu_->vendor, memory);
  if (made != nullptr) return made->name;
  if (memory == vgpu_->rules.sizes.back()) return std::string();
  return Fail(Reason::kNotPlaced, "{} MiB is no size of {}: delete the pod", memory,
              vgpu_->vendor->word);
}

Result<Prepared> VnpuPreparer::Prepare(const PrepareRequest& request) {
  if (vgpu_ != nullptr && request.parts.size() != request.devices.size()) {
    return Fail(Reason::kInternal, "the parts of the chips are unknown");
  }
  const dcmi::LibraryPtr library = TRY(session_->Open());
  Prepared prepared;
  for (size_t i = 0; i < request.devices.size(); ++i) {
    const Device& device = request.devices[i];
    const auto chip = find_(device.key.id);
    if (!chip) return Fail(Reason::kVanished, "{}: the driver has no such chip", device.key.id);
    const std::string name = TRY(TemplateFor(request, i));
    cdi::Node node{.path = NodeOfChip(chip->physical), .permissions = "rw"};
    if (name.empty()) {
      TRY(CheckUndivided(*library, *chip, request.deadline));
    } else {
      const uint32_t id = TRY(Make(*library, *chip, request, device.key.id, name));
      TRY(AwaitNode(root_, NodeOf(id), request));
      node.path = NodeOfChip(id);
      node.host_path = NodeOf(id);
      log::Info("a vNPU was made",
                {{"grant", request.grant}, {"vnpu", std::to_string(id)}, {"template", name}});
    }
    DescribeNode(root_.prefix(), node);
    prepared.edits.nodes.push_back(std::move(node));
  }
  return prepared;
}

// Whether the vNPU is there and is the grant's. kDeviceLost, kUnreadable: nobody can tell now.
Result<bool> VnpuPreparer::IsThere(const Library& library, const OwnVnpu& vnpu) const {
  if (vnpu.state == VnpuState::kLost) return false;
  const auto cards = library.Cards();
  if (!cards) return Fail(Reason::kUnreadable, "{}", cards.error().Text());
  if (std::ranges::count(*cards, vnpu.place.card) == 0) {
    // It may come back with its vNPUs.
    return Fail(Reason::kDeviceLost, "card {} is gone, so its vNPU cannot be destroyed",
                vnpu.place.card);
  }
  if (!vnpu.id) {
    WarnOfLeftOver(vnpu, Strays(library, vnpu));
    return false;
  }
  const auto ids = library.Vnpus(vnpu.place);
  if (!ids) return Fail(Reason::kUnreadable, "{}", ids.error().Text());
  if (!Has(*ids, vnpu.id)) return false;
  const auto name = NameOf(library, vnpu.place, *vnpu.id);
  if (!name) return Fail(Reason::kUnreadable, "DCMI does not describe vNPU {}", *vnpu.id);
  if (*name == vnpu.name) return true;
  log::Warn("a vNPU of the agent's was replaced by another program",
            {{"vnpu", std::to_string(*vnpu.id)}, {"template", *name}});
  return false;
}

Status VnpuPreparer::Destroy(const Library& library, const std::string& grant,
                             const OwnVnpu& of) const {
  const dcmi::Turns::Turn turn = TRY(TurnAt(*session_, of.place, SystemClock().Now() + kPatience));
  const OwnVnpus known = TRY(records_.Now());
  const auto own = known.find({grant, of.device});
  if (own == known.end()) return {};
  OwnVnpu vnpu = own->second;
  const bool is_anothers = std::ranges::any_of(known, [&](const auto& one) {
    return one.first != own->first && one.second.id && one.second.id == vnpu.id &&
           one.second.state != VnpuState::kLost;
  });
  if (is_anothers || !TRY(IsThere(library, vnpu))) return records_.Drop(grant, vnpu.device);
  vnpu.state = VnpuState::kUndoing;
  TRY(records_.Put(grant, vnpu));
  const auto destroyed = library.DestroyVnpu(vnpu.place, *vnpu.id);
  if (!destroyed) {
    return Fail(Reason::kUnavailable, "cannot destroy vNPU {}: {}", *vnpu.id,
                destroyed.error().Text());
  }
  return records_.Drop(grant, vnpu.device);
}

// Whole chips have no record, and no node of a vNPU.
Status VnpuPreparer::CheckHeld(const std::string& grant, const Prepared& prepared) {
  const VnpuRecord record = TRY(records_.Read(grant));
  const bool is_of_boot = record.boot == TRY(os::ReadBootId());
  for (const cdi::Node& node : prepared.edits.nodes) {
    if (node.host_path.empty()) continue;
    const dcmi::LibraryPtr library = TRY(session_->Open());
    const auto own = std::ranges::find_if(record.vnpus, [&](const OwnVnpu& vnpu) {
      return is_of_boot && vnpu.id && NodeOf(*vnpu.id) == node.host_path;
    });
    const bool is_known = own != record.vnpus.end() && own->state == VnpuState::kMade;
    if (is_known && TRY(IsThere(*library, *own))) continue;
    if (is_known) TRY(records_.Lose(grant, *own));
    return Fail(Reason::kVnpuLost,
                "{} is the container's no longer, as another program destroyed the vNPU: delete "
                "the pod",
                node.host_path);
  }
  return {};
}

Status VnpuPreparer::Unprepare(const UnprepareRequest& request) {
  const VnpuRecord record = TRY(records_.Read(request.grant));
  if (record.vnpus.empty()) return records_.Remove(request.grant);
  if (record.boot == TRY(os::ReadBootId())) {
    const dcmi::LibraryPtr library = TRY(session_->Open());
    for (const OwnVnpu& vnpu : record.vnpus) TRY(Destroy(*library, request.grant, vnpu));
  }
  return records_.Remove(request.grant);
}

}  // namespace tessera::ascend
