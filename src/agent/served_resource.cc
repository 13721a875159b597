// SPDX-License-Identifier: Apache-2.0
#include "agent/served_resource.h"

#include <algorithm>

#include "agent/backends.h"
#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr Duration kRescan{60'000};      // hot-plug that made no event is found this late
constexpr Duration kScanRetry{5'000};    // after a scan that failed as a whole
constexpr Duration kScanSettle{20};      // several hot-plug events make one scan
constexpr Duration kSettleLimit{5'000};  // another backend's first scan is waited for so long
constexpr int kCheckThreads = 8;
constexpr int kResetThreads = 16;
constexpr Duration kFirstCheckLimit{250};  // the first list waits this long for first checks

kubelet::PluginOptions OptionsOf(const config::Resource& resource) {
  const auto* dummy = std::get_if<DummyConfig>(&resource.kind);
  return {.pre_start_required = dummy != nullptr && dummy->reset_before_start,
          .preferred_allocation_available = true};
}

bool UsesCdi(const Rendering& rendering) {
  return std::any_of(rendering.strategies.begin(), rendering.strategies.end(), [](Strategy s) {
    return s == Strategy::kCdiCri || s == Strategy::kCdiAnnotations;
  });
}

Prober::Parameters ProberParameters(const config::Config& config) {
  return {.interval = config.health.check_interval, .timeout = config.health.check_timeout};
}

}  // namespace

// Answers from workers come back through here, and find out whether anybody still wants them.
struct ServedResource::Life {
  os::Loop* loop;
  ServedResource* resource;
};

ServedResource::ServedResource(Shared shared, const config::Config& config,
                               const config::Resource& resource, kubelet::RegistrationPath path,
                               const kubelet::Directories& directories)
    : shared_(std::move(shared)),
      resource_(resource),
      config_(config),
      path_(path),
      directories_(directories),
      life_(std::make_shared<Life>(Life{&shared_.loop, this})),
      checks_(kCheckThreads),
      resets_(kResetThreads) {
  config_.resources.clear();
  allocator_ = std::make_shared<Allocator>(
      resource_.name, resets_, shared_.metrics, [life = life_](std::vector<std::string> ids) {
        life->loop->Post([life, ids = std::move(ids)] {
          if (life->resource == nullptr) return;
          life->resource->shared_.node.ledger().Granted(life->resource->resource_.name, ids,
                                                        SystemClock().Now());
        });
      });
}

ServedResource::~ServedResource() {
  plugin_.reset();
  StopBackend();
  life_->resource = nullptr;
}

void ServedResource::Start() {
  MakePlugin();
  StartBackend();
  first_timer_ = shared_.loop.After(kFirstCheckLimit, [this] {
    waited_ = true;
    Publish();
  });
  Publish();  // what is known from before, if all of it was checked on this boot
}

void ServedResource::MakePlugin() {
  plugin_ = std::make_unique<kubelet::Plugin>(
      shared_.loop, shared_.workers,
      kubelet::Plugin::Parameters{.resource = resource_.name,
                                  .path = path_,
                                  .directories = directories_,
                                  .socket_prefix = config_.kubelet.socket_prefix,
                                  .options = OptionsOf(resource_),
                                  .register_timeout = config_.kubelet.register_timeout,
                                  .stream_timeout = config_.kubelet.stream_timeout},
      allocator_, shared_.observer);
}

void ServedResource::StartBackend() {
  backend_ = MakeBackend(resource_, config_, shared_.loop);
  prober_ = std::make_unique<Prober>(
      shared_.loop, checks_, backend_, ProberParameters(config_),
      [this](const std::vector<Observation>& observations) {
        for (const Observation& observation : observations) {
          shared_.metrics.Add(
              http::Metric::kChecks,
              {resource_.name, observation.evidence.kind == EvidenceKind::kGood ? "good" : "bad"});
        }
        shared_.node.Observe(resource_.name, observations);
      });
  if (Status started = backend_->Start(*this); !started) {
    log::LogError("backend did not start", started.error(), {{"resource", resource_.name}});
    backend_error_ = started.error();
  }
  // What is known from before is not checked until a scan has shown that it is there.
  scanned_ = false;
  Scan();
}

void ServedResource::StopBackend() {
  if (backend_ == nullptr) return;
  prober_.reset();
  backend_->Stop();
  ++scan_;
  scanning_ = false;
}

void ServedResource::Apply(const config::Config& config, const config::Resource& resource) {
  bool other_backend = resource.kind != resource_.kind;
  bool other_options = OptionsOf(resource) != OptionsOf(resource_);
  bool other_cdi = resource.cdi_dir != resource_.cdi_dir ||
                   resource.rendering.cdi_kind != resource_.rendering.cdi_kind ||
                   UsesCdi(resource.rendering) != UsesCdi(resource_.rendering);
  if (other_cdi) RemoveCdi();
  resource_ = resource;
  config_ = config;
  config_.resources.clear();
  prober_->SetParameters(ProberParameters(config_));
  if (other_backend) {
    backend_error_.reset();
    StopBackend();
    StartBackend();
  }
  if (other_backend) {
    settling_ = true;
    settle_timer_ = shared_.loop.After(kSettleLimit, [this] {
      settling_ = false;
      Publish();
    });
  }
  if (other_options) plugin_->SetOptions(OptionsOf(resource_));
  Publish();
}

void ServedResource::Look() {
  plugin_->Look();
}

bool ServedResource::Compare(int allocatable) {
  OfferPtr offer = allocator_->offer();
  bool healthy = std::any_of(offer->shares.begin(), offer->shares.end(),
                             [](const Share& share) { return share.healthy; });
  bool doubt = healthy && allocatable == 0 && plugin_->state() == kubelet::PluginState::kStreaming;
  bool again = doubt && doubted_;
  doubted_ = doubt && !again;
  if (again) plugin_->RegisterAgain("kubelet lists none of its healthy devices");
  if (allocatable > 0) plugin_->Confirm();
  return !doubted_;
}

void ServedResource::RescanSoon() {
  life_->loop->Post([life = life_] {
    if (life->resource != nullptr) life->resource->ScheduleScan(kScanSettle);
  });
}

void ServedResource::Report(const DeviceKey& key, Evidence evidence) {
  life_->loop->Post([life = life_, key, evidence = std::move(evidence)] {
    if (life->resource == nullptr) return;
    life->resource->shared_.node.Observe(life->resource->resource_.name, {{key, evidence}});
  });
}

void ServedResource::ScheduleScan(Duration delay) {
  if (scanning_) {
    rescan_ = true;
    return;
  }
  scan_timer_ = shared_.loop.After(delay, [this] { Scan(); });
}

void ServedResource::Scan() {
  scanning_ = true;
  rescan_ = false;
  uint64_t scan = ++scan_;
  shared_.workers.Run([life = life_, backend = backend_, scan] {
    auto devices = backend->Scan();
    life->loop->Post([life, scan, devices = std::move(devices)]() mutable {
      if (life->resource != nullptr) life->resource->Scanned(scan, std::move(devices));
    });
  });
}

void ServedResource::Scanned(uint64_t scan, Result<std::vector<Device>> devices) {
  if (scan != scan_) return;
  scanning_ = false;
  settling_ = false;
  settle_timer_ = os::Loop::Handle();
  shared_.metrics.Add(http::Metric::kScans, {resource_.name, devices ? "good" : "failed"});
  if (!devices) {
    log::Warn("scan failed, the last device list stays", devices.error(),
              {{"resource", resource_.name}});
    prober_->SetDevices(OwnDevices());
    Publish();
    return ScheduleScan(kScanRetry);
  }
  scanned_ = true;
  shared_.node.Found(resource_.name, *std::move(devices));
  prober_->SetDevices(OwnDevices());
  Publish();  // a first list may have waited for this, as may one after another configuration
  ScheduleScan(rescan_ ? kScanSettle : kRescan);
}

std::vector<Device> ServedResource::OwnDevices() const {
  std::vector<Device> devices;
  for (const Device& device : shared_.node.inventory()->devices) {
    if (device.key.source == resource_.name && device.present && !device.defect) {
      devices.push_back(device);
    }
  }
  return devices;
}

// The first bad news goes out at once; everything else within `debounce` becomes one list.
void ServedResource::Changed(bool bad_news) {
  if (bad_news && !told_bad_news_) {
    told_bad_news_ = true;
    Publish();
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
  if (settling_) return true;
  if (list_ != nullptr || waited_) return false;
  return (scanning_ && OwnDevices().empty()) || !shared_.node.Verified(resource_.name);
}

Policy ServedResource::CurrentPolicy() {
  Policy policy = shared_.node.PolicyFor(resource_.name, resource_.policy);
  if (policy != resource_.policy) {
    log::Warn("the former policy stays until nobody holds a device",
              {{"resource", resource_.name},
               {"serving", DivisionName(policy.division)},
               {"configured", DivisionName(resource_.policy.division)}});
  }
  return policy;
}

Offer ServedResource::MakeOffer(const Policy& policy, const Inventory& inventory) const {
  return Divide(resource_.name, policy, inventory, resource_.name,
                [this](const Device& device) { return shared_.node.TroubleOf(device); });
}

void ServedResource::Publish() {
  shared_.save_state();
  if (Premature()) return;
  Policy policy = CurrentPolicy();
  auto offer = std::make_shared<Offer>(MakeOffer(policy, *shared_.node.inventory()));
  auto list = kubelet::SerializeList(*offer);
  if (!list) {
    shared_.metrics.Add(http::Metric::kListsRefused, {resource_.name});
    Refuse(list.error());
    if (list_ == nullptr) return;
    *offer = FormerOffer();
    list = kubelet::SerializeList(*offer);
    if (!list) return;
  } else {
    policy_ = policy;
    refusal_ = backend_error_;
  }
  WriteCdi(*offer);
  // Before the list goes out: an Allocate for what it adds must find it.
  allocator_->Set({offer, resource_.rendering, resource_.placement, backend_});
  if (list_ != nullptr && **list == *list_) return;
  list_ = *std::move(list);
  shared_.metrics.Set(http::Metric::kListBytes, {resource_.name},
                      static_cast<double>(list_->size()));
  plugin_->Publish(list_);
}

// The devices and the policy of the last list that fit, with today's health.
Offer ServedResource::FormerOffer() const {
  OfferPtr former = allocator_->offer();
  Inventory inventory;
  for (const Device& device : former->devices) {
    const Device* now = shared_.node.inventory()->Find(device.key);
    inventory.devices.push_back(now != nullptr ? *now : device);
    if (now == nullptr) inventory.devices.back().present = false;
  }
  return MakeOffer(policy_, inventory);
}

void ServedResource::Refuse(Error error) {
  if (refusal_ != error) {
    log::LogError(list_ == nullptr ? "resource is not served" : "the former device list stays",
                  error, {{"resource", resource_.name}});
  }
  refusal_ = std::move(error);
}

std::string ServedResource::cdi_path() const {
  if (!UsesCdi(resource_.rendering)) return {};
  return resource_.cdi_dir + "/" + CdiFileName(resource_.rendering.cdi_kind);
}

// Before the list goes out, so that no container names a device that the runtime cannot find. An
// unchanged document is not written again: every write makes the runtime read all of them.
void ServedResource::WriteCdi(const Offer& offer) {
  if (!UsesCdi(resource_.rendering)) return;
  std::string document = CdiDocument(offer, resource_.rendering);
  if (document == cdi_document_) return;
  if (auto on_disk = os::ReadFile(cdi_path()); !on_disk || *on_disk != document) {
    Status written = os::MakeDirectories(resource_.cdi_dir, 0755);
    if (written) written = os::WriteFileAtomically(cdi_path(), document, 0644);
    if (!written) {
      log::LogError("cannot write the CDI document", written.error(),
                    {{"resource", resource_.name}});
      return;
    }
    log::Info("wrote the CDI document", {{"resource", resource_.name}, {"path", cdi_path()}});
  }
  cdi_document_ = std::move(document);
}

void ServedResource::RemoveCdi() {
  if (cdi_document_.empty()) return;
  (void)os::RemoveFile(cdi_path());
  cdi_document_.clear();
}

}  // namespace tessera::agent
