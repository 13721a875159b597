// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/fpga.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/fpga/intel.h"
#include "backend/fpga/names.h"
#include "backend/fpga/xilinx.h"
#include "backend/pci_place.h"
#include "backend/sysfs.h"
#include "base/log.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera {
namespace {

Evidence Seen(EvidenceKind kind, Reason reason, std::string detail) {
  return {.kind = kind, .reason = reason, .detail = std::move(detail)};
}

Evidence Good() {
  return Seen(EvidenceKind::kGood, {}, "");
}

Evidence CheckFunctions(const os::Root& root, const fpga::Card& card) {
  for (const std::string& address : card.functions) {
    const std::string function = root.Path("/sys/bus/pci/devices/" + address);
    if (!os::Exists(function)) {
      return Seen(EvidenceKind::kFatal, Reason::kVanished, address + " is not on the PCI bus");
    }
    if (!IsAsleep(root, address) && IsOffTheBus(root, address)) {
      return Seen(EvidenceKind::kFatal, Reason::kDeviceLost,
                  address + " no longer answers on its bus");
    }
    if (!os::Exists(function + "/driver")) {
      return Seen(EvidenceKind::kFatal, Reason::kVanished, address + " has no driver");
    }
  }
  return Good();
}

Evidence CheckNodes(const os::Root& root, const fpga::Card& card) {
  for (const auto& [node, optional] : card.nodes) {
    if (optional || os::Exists(root.Path(node.host_path))) continue;
    return Seen(EvidenceKind::kFatal, Reason::kVanished, node.host_path + " is gone");
  }
  return Good();
}

Evidence CheckRegisters(const os::Root& root, const fpga::Card& card) {
  for (const std::string& path : card.registers) {
    const auto text = os::ReadFile(root.Path(path), 64);
    if (!text && text.error().reason == Reason::kNotFound) continue;
    const auto value = fpga::ParseRegister(text.value_or(""));
    if (!value) {
      return Seen(EvidenceKind::kUnknown, Reason::kUnreadable,
                  text ? path + " has no number" : text.error().message);
    }
    if (*value == 0) continue;
    return Seen(EvidenceKind::kBad, Reason::kCheckFailed,
                fmt::format("{} has {:#x}: clear it once the cause is known", path, *value));
  }
  return Good();
}

bool IsGood(const Evidence& evidence) {
  return evidence.kind == EvidenceKind::kGood;
}

}  // namespace

FpgaBackend::FpgaBackend(std::string resource, FpgaConfig config, os::Root root, os::Loop& loop,
                         Duration look, std::shared_ptr<FoundDevices> found)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      loop_(loop),
      look_(look),
      found_(std::move(found)) {}

Status FpgaBackend::Start(BackendEvents& events) {
  std::vector<std::string> traces = ReadTraces();
  {
    const MutexLock lock(mutex_);
    events_ = &events;
    traces_ = std::move(traces);
  }
  timer_ = loop_.Every(look_, [this] { Look(); });
  return {};
}

void FpgaBackend::Stop() {
  timer_ = {};
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

Preparer* FpgaBackend::preparer() {
  return config_.mode == FpgaConfig::Mode::kRegion ? &programming_ : nullptr;
}

FpgaBackend::Cards FpgaBackend::Read() const {
  return config_.vendor == FpgaConfig::Vendor::kIntel ? fpga::ReadIntel(root_, config_.mode)
                                                      : fpga::ReadXilinx(root_);
}

std::vector<std::string> FpgaBackend::ReadTraces() const {
  return config_.vendor == FpgaConfig::Vendor::kIntel ? fpga::TracesOfIntel(root_)
                                                      : fpga::TracesOfXilinx(root_);
}

// Only a scan takes back what a scan found broken, and no event says when that is due.
void FpgaBackend::Look() {
  const std::vector<std::string> now = ReadTraces();
  const MutexLock lock(mutex_);
  if (events_ != nullptr && (is_broken_ || now != traces_)) events_->RescanSoon();
}

void FpgaBackend::AskForScan() {
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
}

// Whether both are one card, or one port of a card. Ports are found by their nodes: a card that
// does not answer says a wrong number.
bool FpgaBackend::IsSame(const fpga::Card& a, const fpga::Card& b) const {
  const bool are_ports =
      config_.vendor == FpgaConfig::Vendor::kIntel && config_.mode == FpgaConfig::Mode::kAf;
  if (!are_ports) return a.id == b.id;
  return a.address == b.address && a.nodes.front().node == b.nodes.front().node;
}

// A card in trouble stays what it was, so it also stays in its resource and its bundle.
void FpgaBackend::KeepWhatIsUnread(Cards& cards) {
  Cards known;
  {
    const MutexLock lock(mutex_);
    known = *cards_;
  }
  for (fpga::Card& card : cards) {
    if (!card.trouble) continue;
    std::ranges::copy(FormerAt(card.address), std::back_inserter(known));
    const auto last =
        std::ranges::find_if(known, [&](const fpga::Card& one) { return IsSame(card, one); });
    if (last == known.end()) continue;
    card.id = last->id;
    card.takes = last->takes;
    card.bundle = last->bundle;
    if (card.profile.empty()) card.profile = last->profile;
  }
}

// The devices of an earlier backend, which the agent made anew for another configuration.
FpgaBackend::Cards FpgaBackend::FormerAt(const std::string& address) const {
  Cards former;
  if (found_ == nullptr) return former;
  for (const Device& device : found_->KnownAt(address)) {
    const std::string& source = device.key.source;
    std::optional<std::string> profile;
    if (!config_.family.empty()) {
      profile = config::ProfileIn(config_.family, source);
    } else if (source == resource_) {
      profile = config_.profile;
    }
    if (!profile || profile == fpga::kUnknownProfile || device.nodes.empty()) continue;
    former.push_back({.id = device.key.id,
                      .address = address,
                      .profile = *profile,
                      .bundle = device.traits->bundle,
                      .nodes = {{.node = device.nodes.front()}},
                      .takes = device.traits->takes});
  }
  return former;
}

// A resource of a family has the devices of its profile, the family itself those of all.
std::string FpgaBackend::SourceOf(const fpga::Card& card) const {
  const std::string profile(card.profile.empty() ? fpga::kUnknownProfile : card.profile);
  if (!config_.profile.empty() && config_.profile != profile) return "";
  if (config_.family.empty()) return resource_;
  std::string member = config::MemberName(config_.family, profile);
  return resource_ == config_.family || resource_ == member ? member : "";
}

Device FpgaBackend::Describe(const fpga::Card& card) const {
  Device device;
  device.key = {SourceOf(card), card.id};
  device.model = card.model;
  device.address = card.address;
  device.visible_as = card.id;
  const auto numa = sysfs::Number<int>(
      sysfs::Text(root_.Path(fmt::format("/sys/bus/pci/devices/{}/numa_node", card.address))));
  if (numa && *numa >= 0) device.numa_nodes = {*numa};
  DeviceTraits traits;
  ReadPciPlace(root_, card.address, traits);
  traits.takes = card.takes;
  traits.bundle = card.bundle;
  device.traits = std::move(traits);
  device.defect = card.trouble;
  AddNodes(root_, card.nodes, device);
  return device;
}

Result<std::vector<Device>> FpgaBackend::WithoutCards() {
  const bool is_intel = config_.vendor == FpgaConfig::Vendor::kIntel;
  if (is_intel ? fpga::HasIntel(root_) : fpga::HasXilinx(root_)) {
    return Fail(Reason::kDriverMissing, "the node has an FPGA, and its driver is not loaded: {}",
                is_intel ? "dfl-pci, or OPAE's intel-fpga-pci" : "XRT's xocl");
  }
  if (!told_no_card_.exchange(true)) {
    log::Info("the node has no FPGA of the vendor", {{"resource", resource_}});
  }
  return std::vector<Device>();
}

Result<std::vector<Device>> FpgaBackend::Scan() {
  // Read before the cards, so that a change during the scan is seen after it.
  std::vector<std::string> traces = ReadTraces();
  Cards cards = Read();
  KeepWhatIsUnread(cards);
  std::vector<Device> devices;
  for (const fpga::Card& card : cards) {
    if (!SourceOf(card).empty()) devices.push_back(Describe(card));
  }
  const bool is_empty = cards.empty();
  {
    const MutexLock lock(mutex_);
    traces_ = std::move(traces);
    is_broken_ = std::ranges::any_of(
        devices, [](const Device& device) { return device.defect.has_value(); });
    // Without a driver the last good list stays, and the profiles of its cards.
    if (!is_empty) cards_ = std::make_shared<const Cards>(std::move(cards));
  }
  if (is_empty) return WithoutCards();
  return devices;
}

// A card that was programmed anew belongs to another resource, which a scan finds out.
Evidence FpgaBackend::CheckIdentity(const fpga::Card& card) {
  for (const auto& [path, text] : card.identity) {
    const auto now = os::ReadFile(root_.Path(path), 256);
    if (!now) {
      const bool gone = now.error().reason == Reason::kNotFound;
      return Seen(gone ? EvidenceKind::kFatal : EvidenceKind::kUnknown,
                  gone ? Reason::kVanished : Reason::kUnreadable,
                  gone ? path + " is gone" : now.error().message);
    }
    std::string said(Trim(*now));
    if (fpga::ParseId(said)) said = *fpga::ParseId(said);
    if (said == text) continue;
    if (said.empty()) return Seen(EvidenceKind::kUnknown, Reason::kUnreadable, path + " is empty");
    AskForScan();
    if (fpga::ParseId(said) && fpga::IsOnes(said)) {
      return Seen(EvidenceKind::kFatal, Reason::kDeviceLost,
                  path + " reads as ones: the card does not answer");
    }
    return Seen(EvidenceKind::kFatal, Reason::kVanished,
                path + " is another one: it was programmed");
  }
  return Good();
}

Evidence FpgaBackend::Check(const Device& device) {
  std::shared_ptr<const Cards> cards;
  {
    const MutexLock lock(mutex_);
    cards = cards_;
  }
  const auto card = std::ranges::find(*cards, device.key.id, &fpga::Card::id);
  if (card == cards->end()) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished, "the driver no longer has it");
  }
  if (card->trouble) {
    return Seen(EvidenceKind::kFatal, card->trouble->reason, card->trouble->message);
  }
  Evidence seen = CheckFunctions(root_, *card);
  if (IsGood(seen)) seen = CheckNodes(root_, *card);
  if (IsGood(seen)) seen = CheckIdentity(*card);
  if (IsGood(seen)) seen = CheckRegisters(root_, *card);
  return seen;
}

}  // namespace tessera
