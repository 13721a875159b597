// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/rdma.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/rdma/devices.h"
#include "backend/rdma/devinfo.h"
#include "backend/rdma/select.h"
#include "backend/sysfs.h"
#include "base/log.h"
#include "base/text.h"
#include "os/thread.h"

namespace tessera {
namespace {

using rdma::Function;
using rdma::LinkState;

Evidence Seen(EvidenceKind kind, Reason reason, std::string detail) {
  return {.kind = kind, .reason = reason, .detail = std::move(detail)};
}

Evidence Good() {
  return Seen(EvidenceKind::kGood, {}, "");
}

Evidence Lost(const Function& function) {
  return Seen(EvidenceKind::kFatal, Reason::kDeviceLost,
              function.address + " no longer answers on its bus");
}

// Nothing: the function is there.
std::optional<Evidence> CheckPresence(const sysfs::Directory& of, const Function& function) {
  if (of.missing()) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished, function.address + " is gone");
  }
  if (of.opened()) return std::nullopt;
  return Seen(EvidenceKind::kUnknown, Reason::kUnreadable,
              function.address + " cannot be read from sysfs");
}

// Nothing: the function has the names that the scan found.
std::optional<Evidence> CheckNames(const sysfs::Directory& of, const Function& function) {
  const std::string name = of.LinkName("driver");
  if (name != function.driver) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished,
                name.empty() ? fmt::format("{} no longer has {}", function.driver, function.address)
                             : fmt::format("{} has {} now", name, function.address));
  }
  if (!function.hca.empty() && !of.Has("infiniband/" + function.hca)) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished,
                fmt::format("{} no longer has {}", function.address, function.hca));
  }
  for (const std::string& node : function.verbs) {
    if (of.Has("infiniband_verbs/" + node)) continue;
    return Seen(EvidenceKind::kFatal, Reason::kVanished,
                fmt::format("{} is no longer a node of {}", node, function.address));
  }
  return std::nullopt;
}

bool IsGood(const LinkState& link) {
  using Kind = LinkState::Kind;
  return link.kind == Kind::kUp || link.kind == Kind::kOff || link.kind == Kind::kNone;
}

// Of one that is not good.
Evidence OfLink(const LinkState& link, const std::string& whose) {
  if (link.kind == LinkState::Kind::kUnknown) {
    return Seen(EvidenceKind::kUnknown, Reason::kUnreadable, whose + link.text);
  }
  return Seen(EvidenceKind::kBad, Reason::kLinkDown, whose + link.text);
}

// Whether a card has no RDMA device as that of its bond is at another one.
bool IsBonded(const Function& function, const std::vector<Function>& functions) {
  return !function.master.empty() && std::ranges::any_of(functions, [&](const Function& other) {
    return other.master == function.master && !other.hca.empty();
  });
}

// The loss of the function's driver or RDMA device since `last`; nothing: it lost neither. A driver
// that is loaded again brings it back.
std::optional<Error> LossOf(const Function& function, const Function& last,
                            const std::vector<Function>& functions) {
  if (function.driver.empty() && !last.driver.empty()) {
    return Error{Reason::kVanished, fmt::format("{} no longer has {}", last.driver, last.address)};
  }
  const bool has_lost_verbs =
      function.driver == last.driver && function.hca.empty() && !last.hca.empty();
  if (!has_lost_verbs || IsBonded(function, functions)) return std::nullopt;
  return Error{Reason::kVanished, fmt::format("{} no longer has {}", last.address, last.hca)};
}

bool IsExclusive(const os::Root& root) {
  return sysfs::Text(root.Path("/sys/module/ib_core/parameters/netns_mode")) == "N";
}

}  // namespace

RdmaBackend::RdmaBackend(std::string resource, RdmaConfig config, os::Root root, os::Loop& loop,
                         Duration look, Duration fresh)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      loop_(loop),
      look_(look),
      fresh_(fresh),
      cards_(fresh) {}

Status RdmaBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  timer_ = loop_.Every(look_, [this] { Look(); });
  return {};
}

void RdmaBackend::Stop() {
  timer_ = {};
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

void RdmaBackend::Look() {
  auto read = rdma::ReadNames(root_);
  if (!read) return;
  auto names = std::make_shared<const rdma::Names>(*std::move(read));
  {
    const MutexLock lock(mutex_);
    if (names_ != nullptr && *names == *names_) return;
    names_ = std::move(names);
  }
  RescanSoon();
}

void RdmaBackend::RescanSoon() {
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
}

// A function whose files cannot be read for a moment keeps what the last scan knew of it. One that
// was not known is left out, as it may be anything.
void RdmaBackend::KeepTorn(Functions& functions) {
  const MutexLock lock(mutex_);
  for (Function& function : functions) {
    const Function* const last = rdma::Find(*functions_, function.address);
    if (last == nullptr) continue;
    if (function.is_network && !function.trouble) {
      // The kernel cuts a virtual function from its card before the driver leaves it.
      if (!function.IsVirtual() && last->IsVirtual()) {
        function.physical = last->physical;
        function.index = last->index;
      }
      continue;
    }
    const Error trouble = function.trouble.value_or(
        Error{Reason::kUnreadable, function.address + " cannot be read from sysfs"});
    function = *last;
    function.trouble = trouble;
  }
  std::erase_if(functions, [](const Function& function) { return !function.is_network; });
}

// A pod that takes a function's interface hides its name, and the link's. Selectors go by the last
// ones while the driver is the same.
void RdmaBackend::KeepTaken(Functions& functions) {
  const MutexLock lock(mutex_);
  for (Function& function : functions) {
    if (!function.interfaces.empty()) continue;
    const Function* const last = rdma::Find(*functions_, function.address);
    if (last == nullptr || last->interfaces.empty() || last->driver != function.driver) continue;
    function.interfaces = last->interfaces;
    function.link = last->link;
    function.pkey = last->pkey;
  }
}

// A function that the resource had stays as it was while it has lost its driver or its RDMA device.
// It does not move to an entry that gives no verbs meanwhile.
RdmaBackend::Chosen RdmaBackend::ChosenOf(const Functions& functions,
                                          const rdma::HostNetwork& host) {
  Chosen chosen;
  const auto add = [&](const Function& function, RdmaAccess access) -> Function& {
    chosen.accesses.push_back(access);
    return chosen.functions.emplace_back(function);
  };
  const MutexLock lock(mutex_);
  for (const Function& function : functions) {
    const rdma::Fit fit = FitOf(config_, function, functions, host);
    const bool has_verbs = fit.fits && fit.access.verbs;
    const auto had = has_verbs ? chosen_.end() : chosen_.find(function.address);
    const bool is_less = had != chosen_.end() && (!fit.fits || had->second.verbs);
    const Function* const last = is_less ? rdma::Find(*functions_, function.address) : nullptr;
    if (auto loss = last != nullptr ? LossOf(function, *last, functions) : std::nullopt) {
      add(*last, had->second).trouble = std::move(loss);
    } else if (fit.fits) {
      add(function, fit.access);
    }
  }
  chosen_.clear();
  for (size_t i = 0; i < chosen.functions.size(); ++i) {
    chosen_.emplace(chosen.functions[i].address, chosen.accesses[i]);
  }
  return chosen;
}

bool RdmaBackend::IsNews(const std::string& subject, const std::string& text) {
  const MutexLock lock(mutex_);
  return std::exchange(told_[subject], text) != text && !text.empty();
}

void RdmaBackend::WarnOnce(const std::string& subject, const std::string& text) {
  if (IsNews(subject, text)) log::Warn(subject, {{"resource", resource_}, {"detail", text}});
}

void RdmaBackend::Tell(const Functions& functions, const Chosen& chosen,
                       const rdma::HostNetwork& host) {
  std::string nearest;
  if (chosen.functions.empty()) {
    int most = -1;
    for (const Function& function : functions) {
      const rdma::Fit fit = FitOf(config_, function, functions, host);
      if (fit.passed <= most) continue;
      most = fit.passed;
      nearest = fmt::format("the nearest is {}: {}", function.address, fit.why);
    }
  }
  constexpr char kNone[] = "no network function fits the resource";
  if (functions.empty()) nearest = "the node has no network card";
  if (IsNews(kNone, nearest)) log::Info(kNone, {{"resource", resource_}, {"detail", nearest}});
  WarnOnce("the interface with the host's default route is not known",
           host.is_foreign && !config_.choice.shared && !chosen.functions.empty()
               ? "the agent's network is not the host's: set hostNetwork, or select other functions"
               : "");
  WarnOnce("RDMA devices belong to network namespaces",
           !config_.choice.shared && std::ranges::any_of(chosen.accesses, &RdmaAccess::verbs) &&
                   IsExclusive(root_)
               ? "a CNI plugin must move them into pods; `rdma system set netns shared` ends that"
               : "");
}

std::vector<Device> RdmaBackend::DevicesOf(const Chosen& chosen, const rdma::Names& names) {
  const bool is_exclusive = config_.choice.shared && IsExclusive(root_);
  std::vector<Device> devices(chosen.functions.size());
  os::InParts(devices.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const RdmaAccess access = chosen.accesses[i];
      Device& device = devices[i] =
          rdma::DeviceOf(root_, resource_, config_, chosen.functions[i], access, names.infiniband);
      if (!is_exclusive || !access.verbs || device.defect) continue;
      device.defect = {Reason::kNodeLacks,
                       "RDMA devices belong to network namespaces, so containers cannot share one: "
                       "`rdma system set netns shared` ends that"};
    }
  });
  return devices;
}

Result<std::vector<Device>> RdmaBackend::Scan() {
  const Steady began = SystemClock().Now();
  const auto names = std::make_shared<const rdma::Names>(TRY(rdma::ReadNames(root_, true)));
  {
    // A look from now on finds what this scan comes too early for.
    const MutexLock lock(mutex_);
    names_ = names;
  }
  Functions functions = rdma::ReadFunctions(root_, *names, rdma::DetailsOf(config_));
  KeepTorn(functions);
  KeepTaken(functions);
  const rdma::HostNetwork host = rdma::ReadHostNetwork(root_, names->interfaces);
  const Chosen all = ChosenOf(functions, host);
  Tell(functions, all, host);
  std::vector<Device> devices = DevicesOf(all, *names);
  const Functions& chosen = all.functions;
  for (size_t i = 0; i < chosen.size(); ++i) {
    Device& device = devices[i];
    if (!config_.cni || device.defect) continue;
    // A CNI plugin would leave a pod without the network that it asked for.
    const Status written = rdma::WriteDevInfo(root_, resource_, chosen[i]);
    if (!written) device.defect = written.error();
  }
  if (config_.cni) rdma::RemoveOtherDevInfo(root_, resource_, chosen);
  {
    const MutexLock lock(mutex_);
    // A function without a driver is known as it was, until another driver has it.
    for (const Function& kept : chosen) {
      if (!kept.trouble) continue;
      const auto at = std::ranges::find(functions, kept.address, &Function::address);
      if (at != functions.end()) *at = kept;
    }
    functions_ = std::make_shared<const Functions>(std::move(functions));
    scanned_ = began;
  }
  return devices;
}

// A link that is up again is no fault, and a person may want to look at its cable.
void RdmaBackend::TellDowns(const Function& physical) {
  const uint64_t downs =
      growth_.Look(physical.address + " link", rdma::ReadLinkDowned(root_, physical));
  if (downs == 0) return;
  log::Warn("a link went down since the last check",
            {{"resource", resource_},
             {"detail", fmt::format("{}: {}", physical.address, Count(downs, "time"))}});
}

rdma::Card RdmaBackend::AskCard(const Function& physical) {
  const sysfs::Directory of(root_.Path(physical.Directory()));
  if (rdma::IsLost(of)) return {.is_lost = true};
  TellDowns(physical);
  return {.link = rdma::ReadLink(root_, physical), .fatal = rdma::ReadFatal(of)};
}

// A virtual function has the link of its card, on the bus and to the network. Its own port is down
// until a CNI plugin has set it up, which is no fault.
Evidence RdmaBackend::CheckCard(const rdma::Card& card, const Function& function,
                                const Function& physical) {
  const uint64_t fatal = growth_.Look(function.address + " fatal", card.fatal);
  if (fatal == 0 && IsGood(card.link)) return Good();
  const std::string whose =
      &physical == &function
          ? function.address + ": "
          : fmt::format("{} is a part of {}: ", function.address, physical.address);
  if (fatal > 0) {
    return Seen(EvidenceKind::kFatal, Reason::kFatalEvent,
                fmt::format("{}{} of its PCI link", whose, Count(fatal, "fatal error")));
  }
  return OfLink(card.link, whose);
}

// Nothing: the function and its nodes are those of the scan.
std::optional<Evidence> RdmaBackend::CheckFaces(const sysfs::Directory& of,
                                                const Function& function, const Device& device) {
  if (const auto changed = CheckNames(of, function)) {
    // A scan finds other names. It knows of a trouble.
    if (!function.trouble) RescanSoon();
    return changed;
  }
  for (const DeviceNode& node : device.nodes) {
    // The optional node's names are looked at, so a scan takes it out.
    if (node.host_path == rdma::kConnectionManager) continue;
    if (os::Exists(root_.Path(node.host_path))) continue;
    return Seen(EvidenceKind::kFatal, Reason::kVanished, node.host_path + " is gone");
  }
  return std::nullopt;
}

Evidence RdmaBackend::Check(const Device& device) {
  std::shared_ptr<const Functions> functions;
  bool is_fresh = false;
  {
    const MutexLock lock(mutex_);
    functions = functions_;
    is_fresh = SystemClock().Now() - scanned_ < fresh_;
  }
  const Function* const function = rdma::Find(*functions, device.key.id);
  if (function == nullptr) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished, device.key.id + " is gone");
  }
  const Function* physical = rdma::Find(*functions, function->physical);
  if (physical == nullptr) physical = function;
  const rdma::Card card = cards_.Of(physical->address, [&] { return AskCard(*physical); });
  if (card.is_lost) return Lost(*physical);
  if (!is_fresh || function->trouble) {
    const sysfs::Directory of(root_.Path(function->Directory()));
    if (const auto absent = CheckPresence(of, *function)) return *absent;
    if (physical != function && rdma::IsLost(of)) return Lost(*function);
    if (const auto changed = CheckFaces(of, *function, device)) return *changed;
  }
  return CheckCard(card, *function, *physical);
}

}  // namespace tessera
