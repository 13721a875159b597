// SPDX-License-Identifier: Apache-2.0
#include "report/node_reporter.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "os/files.h"
#include "os/process.h"
#include "report/condition_record.h"
#include "report/health_events.h"
#include "report/registration_record.h"

namespace tessera {
namespace {

constexpr Duration kTogether{200};   // changes within this time become one report
constexpr Duration kSearch{30'000};  // between searches for an API server
constexpr std::string_view kOff = "off";

}  // namespace

NodeReporter::NodeReporter(os::Loop& loop, const Node& node, http::Metrics& metrics,
                           std::function<bool()> silent, std::function<void()> came)
    : node_(node),
      metrics_(metrics),
      silent_(std::move(silent)),
      came_(std::move(came)),
      tell_(loop, [this] { TellNode(); }),
      search_again_(loop,
                    [this] {
                      SearchApiServer();
                      if (server_ == nullptr) return;
                      Changed();
                      came_();
                    }),
      mailbox_(loop, *this) {}

void NodeReporter::Open(const config::Config& config, const std::string& host_name) {
  config_ = config.api;
  state_dir_ = config.state_dir;
  resources_ = config.resources;
  search_.emplace(config.api, os::Root(config.root_prefix), os::Variable, host_name);
  SearchApiServer();
}

void NodeReporter::SearchApiServer() {
  auto place = search_->Poll();
  if (!place) {
    if (search_->worthwhile()) search_again_.RingWithin(os::UntilBeat(kSearch));
    return;
  }
  search_.reset();
  node_name_ = place->node;
  log::Info("reporting to the API server", {{"host", place->access.host}, {"node", node_name_}});
  server_ = std::make_unique<ApiServer>(std::move(place->access), node_name_, metrics_);
  WatchPods();
  QueryNode();
}

void NodeReporter::FollowPods(std::shared_ptr<BindContext> context, std::set<std::string> resources,
                              const VendorRow* vendor) {
  if (resources == pod_resources_ && vendor == pod_vendor_) return;
  context_ = std::move(context);
  pod_resources_ = std::move(resources);
  pod_vendor_ = vendor;
  WatchPods();
}

void NodeReporter::WatchPods() {
  if (server_ != nullptr && !pod_resources_.empty())
    server_->WatchPods(context_, pod_resources_, *pod_vendor_, config_.events);
}

void NodeReporter::Apply(const config::Config& config) {
  resources_ = config.resources;
  Changed();
}

void NodeReporter::StartReporting() {
  begun_ = true;
  Changed();
}

void NodeReporter::ReportTransitions(const std::string& source,
                                     const std::vector<Transition>& steps) {
  if (server_ == nullptr) return;
  Changed();
  if (!config_.events || silent_()) return;
  server_->EmitEvents(EventsOf(source, steps, node_.ledger(), node_name_, SystemClock().WallNow()));
}

void NodeReporter::ReportCdiError(const CdiError& trouble) {
  if (server_ == nullptr || !config_.events || silent_()) return;
  server_->EmitEvents({kube::Event{.about = kube::NodeReference(node_name_),
                                   .warning = true,
                                   .reason = trouble.reason,
                                   .message = trouble.message,
                                   .when = SystemClock().WallNow(),
                                   .subject = trouble.path}});
}

void NodeReporter::ReportSpaceCut(const GrantSpace::Cut& cut) {
  if (server_ == nullptr || !config_.events || silent_()) return;
  const auto event = EventOf(cut, node_.ledger(), SystemClock().WallNow());
  if (event) server_->EmitEvents({*event});
}

void NodeReporter::Changed() {
  if (server_ != nullptr && begun_) tell_.RingWithin(kTogether);
}

void NodeReporter::TellNode() {
  if (silent_()) return;
  TellCondition();
  TellObstacles();
  TellRegistration();
}

// Reports resources of which no device can be granted, whatever the devices' health.
void NodeReporter::TellObstacles() {
  const std::map<std::string, Error> former = std::exchange(told_obstacles_, node_.obstacles());
  if (!config_.events) return;
  for (const auto& [resource, why] : told_obstacles_) {
    const auto known = former.find(resource);
    if (known != former.end() && known->second == why) continue;
    server_->EmitEvents({kube::Event{.about = kube::NodeReference(node_name_),
                                     .warning = true,
                                     .reason = "VirtualGPUsUnavailable",
                                     .message = fmt::format("{}: {}", resource, why.Text()),
                                     .when = SystemClock().WallNow(),
                                     .subject = resource}});
  }
}

void NodeReporter::TellCondition() {
  if (!std::exchange(retired_, true)) RetireConditions();
  if (config_.condition == kOff) return;
  kube::Condition now = ConditionOf(node_, config_.condition);
  if (told_ == now) return;
  server_->SetCondition(now);
  told_ = std::move(now);
}

std::set<std::string> NodeReporter::WantedConditions() const {
  if (config_.condition == kOff) return {};
  return {config_.condition};
}

// A condition's type is recorded before the condition is set. So after a crash the next agent still
// knows every condition of ours.
void NodeReporter::RetireConditions() {
  const auto recorded = RecordedConditions(state_dir_);
  if (!recorded)
    log::Warn("cannot read the recorded conditions, so a former condition of the node stays",
              recorded.error());
  std::set<std::string> former = recorded.value_or(std::set<std::string>());
  std::set<std::string> all = WantedConditions();
  all.insert(former.begin(), former.end());
  const Status kept = all == former ? Status() : RecordConditions(state_dir_, all);
  if (!kept) log::Warn("cannot record the type of the node's condition", kept.error());
  former.erase(config_.condition);
  if (former.empty()) return;
  log::Info("removing a former condition of the node",
            {{"types", Join(std::vector<std::string>(former.begin(), former.end()), ", ")}});
  server_->RemoveConditions(former, mailbox_.Bind(&NodeReporter::ConditionsRetired));
}

void NodeReporter::ConditionsRetired() {
  server_->RemoveConditions({}, nullptr);
  const Status kept = RecordConditions(state_dir_, WantedConditions());
  if (!kept) log::Warn("cannot erase the record of the node's former condition", kept.error());
}

void NodeReporter::TellRegistration() {
  std::optional<HamiRegistration> now = RegistrationOf(node_, resources_);
  if (std::exchange(registration_looked_at_, true) && now == registration_) return;
  registration_ = std::move(now);
  Register();
  TellAsymmetric(registration_ ? registration_->asymmetric : std::vector<std::string>());
}

// The registration is recorded before it is sent, like conditions. Those of vendors that the agent
// no longer registers are removed.
void NodeReporter::Register() {
  const auto recorded = RecordedRegistrations(state_dir_);
  if (!recorded) {
    log::Warn("cannot read which registrations are the agent's, so a former one of the node stays",
              recorded.error());
  }
  std::set<std::string> words = recorded.value_or(std::set<std::string>());
  if (!registration_) {
    if (words.empty()) return;
    log::Info("removing the node's registration with HAMi's scheduler");
    return server_->RemoveRegistration(HamiVendorsOf(words),
                                       mailbox_.Bind(&NodeReporter::RegistrationRemoved));
  }
  const std::string word(registration_->vendor->word);
  if (words.insert(word).second) {
    const Status kept = RecordRegistrations(state_dir_, words);
    if (!kept)
      log::Warn("cannot record the node's registration with HAMi's scheduler", kept.error());
  }
  words.erase(word);
  server_->SetRegistration(
      *registration_, HamiVendorsOf(words),
      [told = mailbox_.Bind(&NodeReporter::FormerRemoved), words] { told(words); });
}

// The event has the reason that HAMi's plugin uses.
void NodeReporter::TellAsymmetric(const std::vector<std::string>& pairs) {
  const std::set<std::string> told = std::exchange(told_asymmetric_, {pairs.begin(), pairs.end()});
  for (const std::string& pair : told_asymmetric_) {
    if (told.contains(pair)) continue;
    const std::string message = fmt::format(
        "{} have different links in each direction; the agent tells HAMi's scheduler that they are "
        "not close",
        pair);
    log::Warn(message);
    if (!config_.events) continue;
    server_->EmitEvents({kube::Event{.about = kube::NodeReference(node_name_),
                                     .warning = true,
                                     .reason = "AsymmetricGPUP2PLink",
                                     .message = message,
                                     .when = SystemClock().WallNow(),
                                     .subject = pair}});
  }
}

void NodeReporter::RegistrationRemoved() {
  if (registration_) return;  // a newer configuration registers again
  server_->RemoveRegistration({}, nullptr);
  const Status kept = RecordRegistrations(state_dir_, {});
  if (!kept)
    log::Warn("cannot erase the record of the former registration with HAMi's scheduler",
              kept.error());
}

void NodeReporter::FormerRemoved(const std::set<std::string>& words) {
  if (!registration_) return;  // all are being removed
  auto recorded = RecordedRegistrations(state_dir_);
  if (!recorded) return;
  std::erase_if(*recorded, [&](const std::string& word) {
    return words.contains(word) && word != registration_->vendor->word;
  });
  const Status kept = RecordRegistrations(state_dir_, *recorded);
  if (kept) return Register();
  log::Warn("cannot erase the record of the former registration with HAMi's scheduler",
            kept.error());
}

bool NodeReporter::SetLabels(const Labels& labels) {
  if (server_ == nullptr) return false;
  server_->SetLabels(labels);
  return true;
}

void NodeReporter::AskForNode(std::function<void(const json::Value& node)> answer) {
  // If a read is in progress, its answer goes to the last caller.
  const bool asked = node_query_ != nullptr && server_ != nullptr;
  node_query_ = std::move(answer);
  if (!asked) QueryNode();
}

void NodeReporter::QueryNode() {
  if (server_ == nullptr || !node_query_) return;
  server_->AskForNode(mailbox_.Bind(&NodeReporter::NodeAnswered));
}

void NodeReporter::NodeAnswered(const json::Value& node) {
  if (const auto query = std::exchange(node_query_, {})) query(node);
}

}  // namespace tessera
