// SPDX-License-Identifier: Apache-2.0
#include "agent/served_resource.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/kind.h"
#include "base/log.h"
#include "device/compose.h"
#include "grant/grant.h"
#include "kubelet/call_unix.h"

namespace tessera::agent {
namespace {

constexpr Duration kChangeLimit{5'000};    // another kind's first scan is waited for so long
constexpr Duration kFirstCheckLimit{250};  // the longest wait of the first list for first checks
constexpr Duration kGrantsAgain{1'000};    // the pause between readiness checks while one fails

kubelet::PluginOptions OptionsOf(Backend& backend, const config::Resource& resource) {
  const bool late = resource.rendering.fractions.has_value() || backend.preparer() != nullptr;
  return {.pre_start_required = backend.ResetsBeforeStart() || late,
          .preferred_allocation_available = true};
}

config::Config WithoutResources(config::Config config) {
  config.resources.clear();
  return config;
}

}  // namespace

ServedResource::ServedResource(const Surroundings& at, std::shared_ptr<GrantBinder> binder,
                               const config::Config& config, const config::Resource& resource,
                               kubelet::RegistrationPath path,
                               const kubelet::Directories& directories)
    : at_(at),
      resource_(resource),
      config_(WithoutResources(config)),
      discovery_(at_.loop, at_.workers, *this, at_.found, kubelet::CallUnix),
      readiness_(at_.metrics),
      mailbox_(at_.loop, *this) {
  at_.found->Expect(resource_.name);
  discovery_.Make(config_, resource_);
  ServePreparations();
  offering_ = std::make_unique<Offering>(
      Offering::Surroundings{.loop = at_.loop,
                             .workers = at_.workers,
                             .metrics = at_.metrics,
                             .node = at_.node,
                             .observer = at_.observer,
                             .binder = std::move(binder),
                             .context = at_.context,
                             .recent = at_.recent,
                             .exclusive_granted = mailbox_.Bind([](ServedResource& self) {
                               self.at_.events.ExclusiveGranted(self);
                             })},
      config_, resource_.name, path, directories, OptionsOf(backend(), resource_),
      at_.node.ledger().inbox());
}

ServedResource::~ServedResource() {
  at_.preparations->Retire(resource_.name);
  at_.found->Drop(resource_.name);
  offering_.reset();  // ends kubelet's calls, which use the backend
}

void ServedResource::ServePreparations() {
  at_.preparations->Serve(resource_, *KindOf(resource_), discovery_.shared_backend(),
                          CdiDirectory());
}

// Devices of other resources may be made of its own. They share one only as far as the plan goes:
// after a change of the policy, containers may still hold devices whole.
void ServedResource::ShowDevices() {
  if (!discovery_.scanned()) return;
  const Plan plan = at_.node.PlanFor(resource_.name, resource_.policy);
  const auto replicas = [](const Policy& policy) {
    return policy.division == Division::kReplicas ? policy.replicas : 1;
  };
  FoundDevices::Terms terms{.variable = resource_.rendering.env,
                            .shares = std::min(replicas(plan.policy), replicas(resource_.policy)),
                            .cdi = discovery_.cdi()};
  for (const auto& [device, ids] : plan.kept) {
    if (AnyWhole(ids)) terms.whole.insert(device);
  }
  if (terms.shares > 1) AddWholeParts(terms);
  at_.found->Put(resource_.name, std::move(terms), at_.node.inventory());
}

// Devices that a container has whole as parts of others.
void ServedResource::AddWholeParts(FoundDevices::Terms& terms) const {
  for (const Device& device : at_.node.inventory()->devices) {
    for (const DeviceKey& part : device.traits->parts) {
      const bool whole = part.source == resource_.name &&
                         std::ranges::count(device.traits->takes, PartName(part)) > 0;
      if (whole && at_.node.ledger().MayBeInUse(device.key)) terms.whole.insert(part.id);
    }
  }
}

void ServedResource::Start() {
  StartDiscovery();
  LookAtGrants();
  offering_->plugin().Open();  // registers while the first scan runs
  first_timer_ = at_.loop.After(kFirstCheckLimit, [this] {
    first_timer_ = os::Loop::Handle();
    if (phase_ == Phase::kFirstChecks) phase_ = Phase::kServing;
    if (!offering_->published()) at_.events.ListDue(*this);
  });
  // Publishes the known devices if all were checked on this boot. The mailbox delivers this after
  // the backend's first reports, so devices that broke in between are not offered as healthy.
  mailbox_.Bind([](ServedResource& self) {
    if (self.phase_ == Phase::kStarting) self.phase_ = Phase::kFirstChecks;
    self.at_.events.ListDue(self);
  })();
}

void ServedResource::StartDiscovery() {
  discovery_.Start();
  if (released()) at_.events.Unverified(*this, *released());
}

void ServedResource::SetReleased(std::optional<Error> released) {
  if (!discovery_.SetReleased(std::move(released))) return;
  at_.events.Unverified(*this, this->released().value_or(Error{
                                   Reason::kNotChecked, "not checked since it was released"}));
}

void ServedResource::Apply(const config::Config& config, const config::Resource& resource) {
  const bool other_kind = resource.kind != resource_.kind;
  resource_ = resource;
  config_ = WithoutResources(config);
  if (other_kind) {
    phase_ = Phase::kChangingKind;  // set first: the backend may report while it starts
    discovery_.Make(config_, resource_);
    StartDiscovery();
    change_timer_ = at_.loop.After(kChangeLimit, [this] {
      EndChange();
      at_.events.ListDue(*this);
    });
  } else {
    discovery_.SetParameters(config_);
  }
  ServePreparations();
  ShowDevices();
  offering_->plugin().SetOptions(OptionsOf(backend(), resource_));
  LookAtGrants();
  at_.events.ListDue(*this);
}

void ServedResource::EndChange() {
  change_timer_ = os::Loop::Handle();
  const bool first = first_timer_ && !offering_->published();
  if (phase_ == Phase::kChangingKind) phase_ = first ? Phase::kFirstChecks : Phase::kServing;
}

void ServedResource::PollFiles() {
  offering_->plugin().PollSockets();
  LookAtGrants();
}

// Checks that grants can be made before a pod asks, and again soon while the check fails.
void ServedResource::LookAtGrants() {
  const GrantReadiness::Findings found =
      readiness_.CheckFiles(resource_, os::Root(config_.root_prefix));
  grants_timer_ = os::Loop::Handle();
  if (found.obstacle) {
    grants_timer_ = at_.loop.After(kGrantsAgain, [this] { LookAtGrants(); });
  }
  if (found.other_library && offering_->published()) at_.events.ListDue(*this);
  at_.events.ObstacleSeen(*this, found.obstacle);
}

void ServedResource::ScanEnded(Result<Scanner::ScanResult> found) {
  at_.metrics.Add(http::Metric::kScans, {resource_.name, found ? "good" : "failed"});
  // The first list, or the first one after a change of kind, may have waited for this scan.
  const bool awaited = phase_ == Phase::kChangingKind || !offering_->published();
  EndChange();
  scanned_anew_ |= found.has_value();
  at_.events.ScanEnded(*this, std::move(found), awaited);
}

void ServedResource::DeviceReported(const Observation& observation) {
  at_.events.Observed(*this, {observation});
}

void ServedResource::DriverErrorReported(const std::string& device, const std::string& code) {
  const bool numbered = KindOf(resource_)->numbers_errors;
  at_.metrics.Add(numbered ? http::Metric::kNumberedErrors : http::Metric::kDriverErrors,
                  {resource_.name, device, code});
}

void ServedResource::ChecksEnded(const std::vector<Observation>& observations) {
  double good = 0;
  for (const Observation& observation : observations) {
    if (observation.evidence.kind == EvidenceKind::kGood) {
      ++good;
    } else if (observation.evidence.reason == Reason::kVanished) {
      // Only a scan during a short presence saw this device, so another scan is needed.
      discovery_.ScanSoon();
    }
  }
  const double bad = static_cast<double>(observations.size()) - good;
  if (good > 0) at_.metrics.Add(http::Metric::kChecks, {resource_.name, "good"}, good);
  if (bad > 0) at_.metrics.Add(http::Metric::kChecks, {resource_.name, "bad"}, bad);
  if (backend().TimeoutIsInconclusive()) {
    at_.events.Observed(*this, WithoutSilence(observations));
  } else {
    at_.events.Observed(*this, observations);  // up to 60,000 devices: not copied
  }
  if (!at_.node.AllHealthy(resource_.name)) discovery_.CheckSoon();
}

// A timed-out check is inconclusive for some backends. For an offered device it is dropped: the
// node acts once the device's last evidence is stale.
std::vector<Observation> ServedResource::WithoutSilence(
    std::vector<Observation> observations) const {
  std::erase_if(observations, [this](const Observation& observation) {
    return observation.evidence.reason == Reason::kCheckTimedOut &&
           observation.evidence.kind == EvidenceKind::kUnknown &&
           at_.node.VerdictOf(observation.key).offered();
  });
  return observations;
}

DeviceList ServedResource::OwnDevices() const {
  DeviceList own;
  const DeviceList& all = at_.node.inventory()->devices;
  for (size_t i = 0; i < all.size(); ++i) {
    const Device& device = all[i];
    if (device.key.source == resource_.name && device.present && !device.defect) {
      own.push_back(all.Shared(i));
    }
  }
  return own;
}

void ServedResource::CheckDevices() {
  ShowDevices();
  discovery_.CheckDevices(OwnDevices());
}

std::optional<Urgency> ServedResource::DueAfter(Urgency urgency) {
  discovery_.CheckSoon();
  if (!offering_->published()) return Urgency::kCanWait;  // kubelet waits for the first list
  const bool at_once = urgency == Urgency::kAtOnce && window_ != Urgency::kAtOnce;
  if (!window_) {
    window_timer_ = at_.loop.After(config_.advertise_debounce, [this] {
      window_.reset();
      at_.events.ListDue(*this);
    });
  }
  window_ = std::max(window_.value_or(urgency), urgency);
  return at_once ? std::optional(Urgency::kAtOnce) : std::nullopt;
}

bool ServedResource::IsPremature() const {
  if (phase_ != Phase::kFirstChecks) return phase_ != Phase::kServing;
  const bool undescribed = !discovery_.scanned() && WritesCdi(resource_.rendering);
  return (discovery_.scanning() && (undescribed || OwnDevices().empty())) ||
         !at_.node.Verified(resource_.name);
}

std::optional<Draft> ServedResource::Divide() {
  return offering_->Divide(resource_.policy, discovery_.start_error());
}

Allocator::Snapshot ServedResource::Terms() const {
  const auto& cdi = discovery_.cdi();
  const bool all = cdi == nullptr || !resource_.rendering.cdi_write;
  return {.rendering = all ? resource_.rendering : WithoutMissing(resource_.rendering, *cdi),
          .placement = resource_.placement,
          .backend = discovery_.shared_backend(),
          .cdi_dir = CdiDirectory(),
          .described = cdi,
          .preparations = backend().preparer() != nullptr ? at_.preparations : nullptr,
          .undescribed = cdi == nullptr && KindOf(resource_)->describes};
}

std::string ServedResource::CdiDirectory() const {
  return os::Root(config_.root_prefix).Path(resource_.cdi_dir);
}

std::optional<ServedResource::Description> ServedResource::Describe(const Offer& offer) {
  Description description{CdiDirectory(), {}, CdiDocuments::Since::kOther};
  if (WritesCdi(resource_.rendering)) {
    if (!discovery_.scanned() && KindOf(resource_)->describes) return std::nullopt;
    const auto& cdi = discovery_.cdi();
    description.documents.push_back(CdiDocument(offer, resource_.rendering, cdi.get()));
    if (cdi != nullptr) std::ranges::copy(cdi->others, std::back_inserter(description.documents));
    described_ |= discovery_.scanned();
  }
  if (std::exchange(scanned_anew_, false)) description.since = CdiDocuments::Since::kScan;
  return description;
}

void ServedResource::Publish(Draft draft) {
  offering_->Publish(std::move(draft));
  if (phase_ == Phase::kFirstChecks) phase_ = Phase::kServing;
  ShowDevices();  // the plan may be another
  TellOfWaiting();
}

size_t ServedResource::waiting() const {
  const OfferPtr& offer = offering_->offer();
  if (offer->plan.policy == resource_.policy) return offer->KeptDevices();
  // The whole offer has the former policy. If holders are known, the cause is a new list that does
  // not fit, so no device waits for holders.
  return at_.node.ledger().reconciled(resource_.name) ? 0 : offer->devices.size();
}

// Logs one line when devices begin to wait, and one when the last has stopped.
void ServedResource::TellOfWaiting() {
  const size_t devices = waiting();
  std::optional<Wait> wait;
  if (devices > 0) {
    wait = {resource_.policy, at_.node.ledger().reconciled(resource_.name)};
  }
  const std::optional<Wait> told = std::exchange(wait_, wait);
  if (wait && wait != told) {
    log::Warn(
        wait->known
            ? "devices keep their former shares until no container holds them"
            : "devices keep their former shares until kubelet reports which containers hold them",
        {{"resource", resource_.name},
         {"devices", devices},
         {"configured", PolicyText(resource_.policy)}});
  } else if (told && !wait && offering_->offer()->plan.policy == resource_.policy) {
    log::Info("all devices follow the configured policy",
              {{"resource", resource_.name}, {"configured", PolicyText(resource_.policy)}});
  }
}

const std::optional<Error>& ServedResource::trouble() const {
  if (refusal()) return refusal();
  return discovery_.scan_error() ? discovery_.scan_error() : readiness_.trouble();
}

}  // namespace tessera::agent
