// SPDX-License-Identifier: Apache-2.0
#include "agent/uninstall.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "cdi/cdi_conflicts.h"
#include "cdi/cdi_documents.h"
#include "fraction/grant_binder.h"
#include "fraction/library_files.h"
#include "http/metrics.h"
#include "kube/client.h"
#include "kubelet/checkpoint.h"
#include "kubelet/pod_resources.h"
#include "kubelet/root.h"
#include "os/files.h"
#include "os/loop.h"
#include "prepare/journal.h"
#include "report/condition_record.h"
#include "report/hami_registration.h"
#include "report/health_events.h"
#include "report/node_labels.h"
#include "report/registration_record.h"

namespace tessera::agent {
namespace {

constexpr int kConflicts = 5;  // successive conflicts, then it gives up
constexpr Duration kAsking{10'000};

std::optional<Error> ErrorOf(const Status& status) {
  if (status) return std::nullopt;
  return status.error();
}

// Removes the documents that agents of this state directory wrote and no other party replaced.
Removal RemoveDocuments(const config::Config& config) {
  http::Metrics metrics;
  const CdiDocuments none(metrics, os::Root(config.root_prefix));
  const Status removed =
      CdiConflicts(none, metrics, config.state_dir + "/cdi-documents").RemoveStale([] {
        return std::set<std::string>();
      });
  return {.what = "CDI documents", .error = ErrorOf(removed)};
}

// Removes containers' directories too. Files of the limiting library stay if another party may use
// them.
Removal RemoveGrants(const config::Config& config) {
  const os::Root root(config.root_prefix);
  std::set<std::string> cdi_dirs = {root.Path(config::Resource().cdi_dir)};
  for (const config::Resource& resource : config.resources) {
    cdi_dirs.insert(root.Path(resource.cdi_dir));
  }
  GrantBinder binder("", config.state_dir, root, std::make_shared<BindContext>(),
                     std::make_shared<GrantInbox>());
  Status removed = binder.RemoveAll(cdi_dirs, ContainersDirectories(config));
  if (removed) removed = RemoveLibraries(config);
  return {.what = "files of virtual GPU grants", .error = ErrorOf(removed)};
}

// The requests to the API server, one after the other, until all are done or one fails.
class NodeCleaning {
 public:
  NodeCleaning(const config::Config& config, const ApiTarget& api)
      : config_(config), client_(loop_, api.access), path_(kube::NodePath(api.node)) {}

  Status Run() {
    Begin();
    loop_.Run();
    return result_;
  }

 private:
  void Begin() {
    client_.Get(path_, kube::NodeForm(), [this](const Result<json::Value>& node) {
      if (!node) return End(Fail(node.error()));
      CleanLabels(*node);
    });
  }
  void CleanLabels(const json::Value& node) {
    NodePatch patch = PatchWithoutLabels(kube::MetadataOf(node));
    if (!patch.patch) return CleanRegistration(node);
    client_.Patch(kube::PatchType::kMerge, path_, json::Value(*std::move(patch.patch)),
                  kube::NodeForm(), [this](const Result<json::Value>& written) {
                    if (written) return CleanRegistration(*written);
                    // Other writers, above all kubelet, change the node often, so a conflict is
                    // retried.
                    const bool late = written.error().reason == Reason::kApiConflict;
                    if (late && ++conflicts_ < kConflicts) return Begin();
                    End(Fail(written.error()));
                  });
  }

  // Another plugin's registration stays.
  void CleanRegistration(const json::Value& node) {
    auto words = RecordedRegistrations(config_.state_dir);
    if (!words) return End(Fail(words.error()));
    for (const config::Resource& resource : config_.resources) {
      if (!IsRegistered(resource)) continue;
      words->emplace(resource.rendering.fractions->requests->vendor->word);
    }
    const auto patch =
        words->empty() ? std::nullopt : RegistrationRemoval(HamiVendorsOf(*words), node);
    if (!patch) return CleanCondition(node);
    client_.Patch(kube::PatchType::kMerge, path_, *patch, kube::NodeForm(),
                  [this](const Result<json::Value>& written) {
                    if (!written) return End(Fail(written.error()));
                    if (Status gone = RecordRegistrations(config_.state_dir, {}); !gone) {
                      return End(std::move(gone));
                    }
                    CleanCondition(*written);
                  });
  }

  void CleanCondition(const json::Value& node) {
    auto types = RecordedConditions(config_.state_dir);
    if (!types) return End(Fail(types.error()));
    types->insert(config_.api.condition);
    const auto patch = ConditionsRemoval(*types, node);
    if (!patch) return End(RecordConditions(config_.state_dir, {}));
    client_.Patch(kube::PatchType::kStrategic, path_ + "/status", *patch, kube::NodeForm(),
                  [this](const Result<json::Value>& written) {
                    End(written ? RecordConditions(config_.state_dir, {}) : Fail(written.error()));
                  });
  }

  void End(Status result) {
    result_ = std::move(result);
    loop_.Stop();
  }

  const config::Config& config_;
  os::Loop loop_;
  kube::Client client_;
  const std::string path_;
  int conflicts_ = 0;
  Status result_;
};

std::optional<Removal> LookAtPrepared(const config::Config& config) {
  const Journal journal(config.state_dir);
  if (!journal.any()) return std::nullopt;
  return Removal{.what = "preparations of devices", .error = LeftIn(journal)};
}

kubelet::Directories DirectoriesOf(const config::Config& config) {
  const std::string& root = config.kubelet.root;
  if (!root.empty()) return {root};
  return {kubelet::DetectRoot(os::Root(config.root_prefix)).value_or("")};
}

// kubelet writes its checkpoint when it grants, not when a pod ends. With no plugin left, the pods
// that ended stay in it. So the pod-resources API decides.
bool IsHeld(const kubelet::CheckpointEntry& entry, const std::vector<Holding>& holdings) {
  const std::vector<std::string> ids = entry.ids();
  return std::ranges::any_of(holdings, [&](const Holding& holding) {
    return holding.resource == entry.resource && holding.container == entry.container &&
           std::ranges::find_first_of(holding.share_ids, ids) != holding.share_ids.end();
  });
}

}  // namespace

Result<std::vector<std::string>> ContainersWithGrants(const config::Config& config) {
  return ContainersWithGrants(
      config, kubelet::ListHoldings(DirectoriesOf(config).pod_resources_socket(), kAsking));
}

Result<std::vector<std::string>> ContainersWithGrants(
    const config::Config& config, const Result<std::vector<Holding>>& holdings) {
  const std::string path = DirectoriesOf(config).device_plugins() + "/" + kubelet::kCheckpointFile;
  std::vector<std::string> containers;
  const auto text = os::ReadFile(path);
  if (!text && text.error().reason == Reason::kNotFound) return containers;
  if (!text) return Fail(text.error());
  const kubelet::Checkpoint checkpoint = TRY_IN(kubelet::ParseCheckpoint(*text), path);
  for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
    if (holdings && !IsHeld(entry, *holdings)) continue;
    const Grant grant = entry.grant();
    const bool ours = std::ranges::any_of(grant.annotations, [](const auto& annotation) {
      const bool names =
          annotation.first == kGrantAnnotation || annotation.first == kPreparedAnnotation;
      return names && IsGrantName(annotation.second);
    });
    if (!ours) continue;
    containers.push_back(fmt::format("container {} of pod {}", entry.container, entry.pod_uid));
  }
  return containers;
}

std::vector<Removal> Uninstall(const config::Config& config, const std::optional<ApiTarget>& api) {
  std::vector<Removal> removals = {RemoveDocuments(config)};
  if (config.labels.output == config::LabelsOutput::kFile ||
      config.labels.output == config::LabelsOutput::kAuto) {
    const std::string path = os::Root(config.root_prefix).Path(config.labels.file);
    removals.push_back({"the feature file " + path, ErrorOf(os::RemoveFile(path))});
  }
  if (api) {
    removals.push_back({"labels, annotations and condition of node " + api->node,
                        ErrorOf(NodeCleaning(config, *api).Run())});
  }
  if (auto prepared = LookAtPrepared(config)) removals.push_back(*std::move(prepared));
  // Last, because a running container can prevent the removal of its files.
  removals.push_back(RemoveGrants(config));
  return removals;
}

}  // namespace tessera::agent
