// SPDX-License-Identifier: Apache-2.0
#include "agent/served_resource.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/bind/grant_trouble.h"
#include "agent/bind/library_files.h"
#include "base/log.h"
#include "grant/vgpu.h"
#include "kinds/kinds.h"

namespace tessera::agent {
namespace {

constexpr Duration kSettleLimit{5'000};    // another backend's first scan is waited for so long
constexpr Duration kFirstCheckLimit{250};  // the first list waits this long for first checks
// Shorter than the pause after which it is asked again; a long list takes kubelet a while.
constexpr Duration kDoubt{500};
constexpr Duration kVgpusAgain{1'000};  // what keeps virtual GPUs from being granted is looked at
constexpr int kHardwareThreads = Prober::kMostHanging + 1;  // one for scans
constexpr int kPreStartThreads = 16;                        // as many resets at once

kubelet::PluginOptions OptionsOf(const Backend& backend, const config::Resource& resource) {
  return {.pre_start_required = backend.ResetsBeforeStart() || resource.rendering.vgpu.has_value(),
          .preferred_allocation_available = true};
}

Prober::Parameters ProberParameters(const config::Config& config) {
  return {.interval = config.health.check_interval,
          .resting = config.health.stale_after / 2,
          .timeout = config.health.check_timeout};
}

}  // namespace

ServedResource::ServedResource(Shared shared, const config::Config& config,
                               const config::Resource& resource, kubelet::RegistrationPath path,
                               const kubelet::Directories& directories)
    : shared_(std::move(shared)),
      resource_(resource),
      config_(config),
      offer_(std::make_shared<Offer>()),
      mailbox_(shared_.loop, *this) {
  config_.resources.clear();
  backend_ = MakeBackend();
  allocator_ = std::make_shared<Allocator>(
      resource_.name, std::make_shared<os::Workers>(kPreStartThreads), shared_.binder, shared_.book,
      shared_.metrics,
      [inbox = shared_.node.ledger().inbox(), name = resource_.name](std::vector<std::string> ids) {
        inbox->Put(name, std::move(ids), SystemClock().Now());
      });
  plugin_ = std::make_unique<kubelet::Plugin>(
      shared_.loop, shared_.workers,
      kubelet::Plugin::Parameters{.resource = resource_.name,
                                  .path = path,
                                  .directories = directories,
                                  .socket_prefix = config_.kubelet.socket_prefix,
                                  .options = OptionsOf(*backend_, resource_),
                                  .register_timeout = config_.kubelet.register_timeout,
                                  .stream_timeout = config_.kubelet.stream_timeout},
      allocator_, shared_.observer);
}

ServedResource::~ServedResource() {
  plugin_.reset();
  StopBackend();
}

void ServedResource::Start() {
  StartBackend();
  CheckVgpus();
  plugin_->Open();  // while devices are looked for
  first_timer_ = shared_.loop.After(kFirstCheckLimit, [this] {
    waited_ = true;
    if (list_ == nullptr) Publish();
  });
  // What is known from before, if all of it was checked on this boot; after what the backend has
  // just reported of devices that broke meanwhile.
  mailbox_.Bind([](ServedResource& self) {
    self.begun_ = true;
    self.Publish();
  })();
}

std::shared_ptr<Backend> ServedResource::MakeBackend() const {
  return KindOf(resource_)->make(resource_, {.state_dir = config_.state_dir,
                                             .root = os::Root(config_.root_prefix),
                                             .loop = shared_.loop});
}

void ServedResource::StartBackend() {
  backend_error_.reset();
  if (Status started = backend_->Start(*this); !started) {
    log::LogError("backend did not start", started.error(), {{"resource", resource_.name}});
    backend_error_ = started.error();
  }
  // Threads that hang in another backend's calls are no loss to this one, and nobody waits for
  // them.
  if (hardware_ != nullptr) shared_.workers.Run([former = hardware_] {});
  hardware_ = std::make_shared<os::Workers>(kHardwareThreads);
  prober_ = std::make_unique<Prober>(
      shared_.loop, *hardware_, backend_, ProberParameters(config_),
      [this](const std::vector<Observation>& observations) { Observed(observations); });
  if (release_order_) LetGo();
  // What is known from before is not checked until a scan has shown that it is there.
  scanned_ = false;
  cdi_.reset();
  scan_error_.reset();
  scanner_ = std::make_unique<Scanner>(
      shared_.loop, *hardware_, backend_,
      [this](Result<Scanner::Found> found) { Scanned(std::move(found)); });
}

void ServedResource::SetReleased(std::optional<Error> released) {
  release_order_ = std::move(released);
  if (scanner_ == nullptr) return;
  if (release_order_) {
    LetGo();
  } else if (released_) {
    released_.reset();
    backend_->TakeUp();
    shared_.node.Unverify(resource_.name, Reason::kNotChecked, "not checked since it was released");
  }
  scanner_->Soon();
}

void ServedResource::LetGo() {
  released_.reset();
  if (!backend_->Release()) return;
  released_ = release_order_;
  shared_.node.Unverify(resource_.name, released_->reason, released_->message);
  prober_->SetDevices({});  // until a scan after the release
}

void ServedResource::StopBackend() {
  scanner_.reset();
  prober_.reset();
  backend_->Stop();
}

void ServedResource::Apply(const config::Config& config, const config::Resource& resource) {
  bool other_backend = resource.kind != resource_.kind;
  resource_ = resource;
  config_ = config;
  config_.resources.clear();
  prober_->SetParameters(ProberParameters(config_));
  if (other_backend) {
    StopBackend();
    backend_ = MakeBackend();
    settling_ = true;  // whatever it says while it starts
    StartBackend();
    settle_timer_ = shared_.loop.After(kSettleLimit, [this] {
      settling_ = false;
      Publish();
    });
  }
  plugin_->SetOptions(OptionsOf(*backend_, resource_));
  CheckVgpus();
  Publish();
}

void ServedResource::Look() {
  plugin_->Look();
  CheckVgpus();
}

// Before a pod comes, and soon again for as long as something is missing.
void ServedResource::CheckVgpus() {
  vgpus_timer_ = os::Loop::Handle();
  auto& vgpu = resource_.rendering.vgpu;
  const os::Root root(config_.root_prefix);
  if (vgpu && FindLibraryAnew(root, *vgpu)) {
    log::Info("the limiting library is another one now",
              {{"resource", resource_.name}, {"library", vgpu->library}});
    if (list_ != nullptr) Publish();
  }
  const Status checked = vgpu ? CheckGrants(root, *vgpu) : Status();
  TellOfVgpus(checked);
  shared_.node.SetObstacle(resource_.name, checked ? std::nullopt : std::optional(checked.error()));
  WarnOfMounts();
  if (!checked) vgpus_timer_ = shared_.loop.After(kVgpusAgain, [this] { CheckVgpus(); });
}

void ServedResource::TellOfVgpus(const Status& checked) {
  std::optional<Error> trouble;
  if (!checked) {
    trouble = Error{checked.error().reason, resource_.name + ": " + checked.error().message};
  }
  if (trouble == grants_trouble_) return;
  shared_.metrics.Forget(http::Metric::kVgpuTrouble, 0, resource_.name);
  if (trouble) {
    shared_.metrics.Set(http::Metric::kVgpuTrouble,
                        {resource_.name, std::string(ReasonName(trouble->reason))}, 1);
    log::LogError("no virtual GPU can be granted: all are offered as unhealthy", checked.error(),
                  {{"resource", resource_.name}});
  } else {
    log::Info("virtual GPUs can be granted again", {{"resource", resource_.name}});
  }
  grants_trouble_ = std::move(trouble);
}

// kubelet's answer has no place for the options of a mount.
void ServedResource::WarnOfMounts() {
  const auto& vgpu = resource_.rendering.vgpu;
  std::optional<MissingFlags> missing;
  if (vgpu && !WritesCdi(resource_.rendering)) {
    missing = MissingMountFlags(os::Root(config_.root_prefix), *vgpu);
  }
  if (missing == mount_flags_) return;
  mount_flags_ = missing;
  if (!missing) return;
  log::Warn("without CDI containers write on a file system that needs a mount of its own",
            {{"resource", resource_.name},
             {"directory", missing->directory},
             {"options", missing->flags}});
}

bool ServedResource::Compare(int allocatable) {
  if (allocatable > 0) plugin_->Confirm();
  if (offer_->HealthyShares() == 0 || allocatable > 0 || !streaming()) {
    doubted_.reset();
    return true;
  }
  const Steady now = SystemClock().Now();
  if (!doubted_) doubted_ = now;
  if (now - *doubted_ < kDoubt) return false;
  doubted_.reset();
  plugin_->RegisterAgain("kubelet lists none of its healthy devices");
  return true;
}

void ServedResource::Repeat() {
  plugin_->Publish(list_);
}

void ServedResource::RescanSoon() {
  mailbox_.Bind([](ServedResource& self) { self.scanner_->Soon(); })();
}

void ServedResource::Report(const DeviceKey& key, Evidence evidence) {
  mailbox_.Bind([](ServedResource& self, const Observation& observation) {
    self.shared_.node.Observe(self.resource_.name, {observation});
  })(Observation{key, std::move(evidence)});
}

void ServedResource::CountXid(const std::string& gpu, const std::string& xid) {
  mailbox_.Bind([](ServedResource& self, const std::string& of, const std::string& number) {
    self.shared_.metrics.Add(http::Metric::kXids, {self.resource_.name, of, number});
  })(gpu, xid);
}

void ServedResource::Observed(const std::vector<Observation>& observations) {
  if (released_) return;  // from before: nobody vouches for it now
  double good = 0;
  for (const Observation& observation : observations) {
    if (observation.evidence.kind == EvidenceKind::kGood) {
      ++good;
    } else if (observation.evidence.reason == Reason::kVanished) {
      scanner_->Soon();  // plugged and unplugged so quickly that only a scan in between has seen it
    }
  }
  const double bad = static_cast<double>(observations.size()) - good;
  if (good > 0) shared_.metrics.Add(http::Metric::kChecks, {resource_.name, "good"}, good);
  if (bad > 0) shared_.metrics.Add(http::Metric::kChecks, {resource_.name, "bad"}, bad);
  if (backend_->SilenceIsNoEvidence()) {
    shared_.node.Observe(resource_.name, WithoutSilence(observations));
  } else {
    shared_.node.Observe(resource_.name, observations);  // of up to 60,000 devices: not copied
  }
  if (!shared_.node.AllHealthy(resource_.name)) prober_->Soon();
}

// Where silence is no evidence, the node is not to hear that a check hangs of a device that is well
// for all that is known: it finds out when that is stale.
std::vector<Observation> ServedResource::WithoutSilence(
    std::vector<Observation> observations) const {
  std::erase_if(observations, [this](const Observation& observation) {
    return observation.evidence.reason == Reason::kCheckTimedOut &&
           observation.evidence.kind == EvidenceKind::kUnknown &&
           shared_.node.VerdictOf(observation.key).offered();
  });
  return observations;
}

void ServedResource::Scanned(Result<Scanner::Found> found) {
  // A first list may have waited for this, as may one after another configuration.
  const bool awaited = std::exchange(settling_, false) || list_ == nullptr;
  settle_timer_ = os::Loop::Handle();
  shared_.metrics.Add(http::Metric::kScans, {resource_.name, found ? "good" : "failed"});
  if (found) {
    scanned_ = seen_anew_ = true;
    cdi_ = found->cdi;
    scan_error_.reset();
    // What has vanished leaves with the scan after the one that missed it.
    if (shared_.node.Found(resource_.name, std::move(found->devices))) scanner_->Soon();
  } else {
    // What lasts is told once.
    const bool told = released_ || (scan_error_ && scan_error_->message == found.error().message);
    if (!told) {
      log::Warn("scan failed, the last device list stays", found.error(),
                {{"resource", resource_.name}});
    }
    scan_error_ = found.error();
  }
  prober_->SetDevices(released_ ? DeviceList() : OwnDevices());
  if (awaited || !publish_timer_) Publish();  // else it comes when the debounce ends
}

DeviceList ServedResource::OwnDevices() const {
  DeviceList own;
  const DeviceList& all = shared_.node.inventory()->devices;
  for (size_t i = 0; i < all.size(); ++i) {
    const Device& device = all[i];
    if (device.key.source == resource_.name && device.present && !device.defect) {
      own.push_back(all.Shared(i));
    }
  }
  return own;
}

// The first list and the first bad news go out at once; everything else within `debounce` becomes
// one list.
void ServedResource::Changed(bool bad_news) {
  prober_->Soon();
  if (list_ == nullptr) return Publish();  // kubelet waits for the first
  if (bad_news && !told_bad_news_) {
    told_bad_news_ = true;
    Publish(News::kBad);
  }
  if (publish_timer_) return;
  publish_timer_ = shared_.loop.After(config_.advertise_debounce, [this] {
    publish_timer_ = os::Loop::Handle();
    told_bad_news_ = false;
    Publish();
  });
}

// Whether a better list is about to come: nothing is known yet, or not yet checked, or the devices
// of another configuration are still being looked for.
bool ServedResource::Premature() const {
  if (settling_ || !begun_) return true;
  if (list_ != nullptr || waited_) return false;
  const bool undescribed = !scanned_ && WritesCdi(resource_.rendering);
  return (scanner_->scanning() && (undescribed || OwnDevices().empty())) ||
         !shared_.node.Verified(resource_.name);
}

void ServedResource::Publish(News news) {
  if (Premature()) return;
  shared_.save_falls();
  std::optional<Draft> draft = MakeDraft();
  // What is to go is granted to nobody from here on, and what of it was granted until then is held:
  // it stays.
  while (draft && Withdraw(*draft->offer)) draft = MakeDraft();
  if (!draft && list_ != nullptr) GrantFrom(offer_);
  // Ids of another plan are to be known to the next start before anybody can hold one; where they
  // cannot be saved, kubelet's checkpoint tells of those that are held.
  const bool other_plan = draft && shared_.node.Follow(resource_.name, draft->offer->plan);
  if (news == News::kGood || other_plan) shared_.save_facts();
  if (draft) Serve(*std::move(draft));
  if (news == News::kBad) shared_.save_facts();
}

// Shares that `next` does not have are granted no more. True when there were any.
bool ServedResource::Withdraw(const Offer& next) {
  std::optional<Offer> rest = WithoutOthers(*allocator_->offer(), next);
  if (!rest) return false;
  GrantFrom(std::make_shared<Offer>(*std::move(rest)));
  return true;
}

void ServedResource::GrantFrom(OfferPtr offer) {
  const bool all = cdi_ == nullptr || !resource_.rendering.cdi_write;
  allocator_->Set({std::move(offer),
                   all ? resource_.rendering : WithoutMissing(resource_.rendering, *cdi_),
                   resource_.placement, backend_, CdiDirectory(), cdi_});
}

std::string ServedResource::CdiDirectory() const {
  return os::Root(config_.root_prefix).Path(resource_.cdi_dir);
}

void ServedResource::Serve(Draft draft) {
  // Before the list goes out, so that no container names a device that the runtime cannot find.
  WriteCdi(*draft.offer);
  // Before the list goes out: an Allocate for what it adds must find it.
  GrantFrom(draft.offer);
  offer_ = std::move(draft.offer);
  TellOfWaiting();
  if (list_ != nullptr && *draft.list == *list_) return;
  list_ = std::move(draft.list);
  shared_.metrics.Set(http::Metric::kListBytes, {resource_.name},
                      static_cast<double>(list_->size()));
  plugin_->Publish(list_);
}

void ServedResource::WriteCdi(const Offer& offer) {
  std::vector<cdi::Document> documents;
  if (WritesCdi(resource_.rendering)) {
    // What an earlier process wrote is better than what is known before the first scan.
    if (!scanned_ && KindOf(resource_)->describes_for_cdi) return;
    documents.push_back(CdiDocument(offer, resource_.rendering, cdi_.get()));
    if (cdi_ != nullptr) std::ranges::copy(cdi_->others, std::back_inserter(documents));
    described_ |= scanned_;
  }
  shared_.cdi.Write(
      resource_.name, CdiDirectory(), std::move(documents),
      shared_.node.ledger().AnyMayBeInUse(resource_.name),
      std::exchange(seen_anew_, false) ? CdiDocuments::Since::kScan : CdiDocuments::Since::kOther);
}

size_t ServedResource::waiting() const {
  if (offer_->plan.policy == resource_.policy) return offer_->KeptDevices();
  // If holders are known, it is the new list that does not fit.
  return shared_.node.ledger().reconciled(resource_.name) ? 0 : offer_->devices.size();
}

// A line when devices begin to wait, and one when none does any more.
void ServedResource::TellOfWaiting() {
  const size_t devices = waiting();
  std::optional<Wait> wait;
  if (devices > 0) {
    wait = {resource_.policy, shared_.node.ledger().reconciled(resource_.name)};
  }
  const std::optional<Wait> told = std::exchange(wait_, wait);
  if (wait && wait != told) {
    log::Warn(wait->known ? "devices keep their former shares until nobody holds them"
                          : "devices keep their former shares until it is known who holds them",
              {{"resource", resource_.name},
               {"devices", devices},
               {"configured", PolicyText(resource_.policy)}});
  } else if (told && !wait && offer_->plan.policy == resource_.policy) {
    log::Info("the last devices have taken the configured policy",
              {{"resource", resource_.name}, {"configured", PolicyText(resource_.policy)}});
  }
}

// The offer and its list; where that does not fit, of the former devices and policy, with today's
// health; nothing when there is none.
std::optional<ServedResource::Draft> ServedResource::MakeDraft() {
  Result<Draft> draft = DraftBy(resource_.policy, *shared_.node.inventory());
  if (draft) {
    refusal_ = backend_error_;
    return *std::move(draft);
  }
  shared_.metrics.Add(http::Metric::kListsRefused, {resource_.name});
  Refuse(draft.error());
  if (list_ == nullptr) return std::nullopt;
  draft = DraftBy(offer_->plan.policy, FormerDevices());
  return draft ? std::optional(*std::move(draft)) : std::nullopt;
}

Result<ServedResource::Draft> ServedResource::DraftBy(const Policy& policy,
                                                      const Inventory& inventory) const {
  const Plan plan = shared_.node.PlanFor(resource_.name, policy);
  TRY(kubelet::MayFit(resource_.name, inventory.devices, plan));
  auto offer = std::make_shared<Offer>(Divide(
      resource_.name, plan, inventory, resource_.name,
      [this](const Device& device) { return shared_.node.TroubleOf(device); }, offer_.get()));
  kubelet::ListBytes list = TRY(kubelet::SerializeList(*offer));
  return Draft{std::move(offer), std::move(list)};
}

// Those of the last list that fit, as they are now.
Inventory ServedResource::FormerDevices() const {
  const DeviceList& former = offer_->devices;
  const Inventory& now = *shared_.node.inventory();
  Inventory inventory;
  for (size_t i = 0; i < former.size(); ++i) {
    if (const auto at = now.PositionOf(former[i].key)) {
      inventory.devices.push_back(now.devices.Shared(*at));
    } else {
      Device gone = former[i];
      gone.present = false;
      inventory.devices.push_back(std::move(gone));
    }
  }
  return inventory;
}

void ServedResource::Refuse(Error error) {
  if (refusal_ != error) {
    log::LogError(list_ == nullptr ? "resource is not served" : "the former device list stays",
                  error, {{"resource", resource_.name}});
  }
  refusal_ = std::move(error);
}

}  // namespace tessera::agent
