// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/characters.h"
#include "config/schema/checks.h"
#include "config/schema/problem.h"
#include "os/address.h"

namespace tessera::scheduler {
namespace {

using config::CheckAbsolutePath;
using config::CheckResourceName;
using config::Misfit;

constexpr int64_t kMostMemory = 100'000'000;  // MiB
constexpr int64_t kMostFactor = 1 << 20;
constexpr int64_t kMostWeight = 1'000'000;
constexpr int64_t kMostTime = 24LL * 3600 * 1000;

Misfit Must(std::string_view rule, std::string_view text) {
  return {Reason::kConfigBadValue, fmt::format("must be {}, not {}", rule, config::Quoted(text)),
          ""};
}

std::optional<Misfit> CheckAddress(std::string_view text) {
  if (os::ParseAddress(text)) return std::nullopt;
  return Must("ADDRESS:PORT, such as 127.0.0.1:9444, [::1]:9444 or, for all, :9444", text);
}

// The rule for most Kubernetes object names.
std::optional<Misfit> CheckName(std::string_view text) {
  constexpr size_t kLongest = 253;
  const auto good = [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); };
  const bool known =
      std::ranges::all_of(text, [&](char c) { return good(c) || c == '-' || c == '.'; });
  if (known && !text.empty() && text.size() <= kLongest && good(text.front()) &&
      good(text.back())) {
    return std::nullopt;
  }
  return Must("a name of small letters, digits, - and .", text);
}

// API server users and groups may be almost any text.
std::optional<Misfit> CheckUser(std::string_view text) {
  return text.empty() ? std::optional(Must("a name such as system:masters", text)) : std::nullopt;
}

// "gpu", "nvidia.com/gpu.present".
std::optional<Misfit> CheckLabelKey(std::string_view text) {
  constexpr size_t kLongest = 63;
  const size_t slash = text.find('/');
  const bool prefixed = slash != std::string_view::npos;
  const std::string_view name = prefixed ? text.substr(slash + 1) : text;
  const bool known = std::ranges::all_of(
      name, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
  const bool ends = !name.empty() && IsAlphanumeric(name.front()) && IsAlphanumeric(name.back());
  const bool under = !prefixed || !CheckName(text.substr(0, slash));
  if (known && ends && under && name.size() <= kLongest) return std::nullopt;
  return Must("the key of a label, such as gpu or nvidia.com/gpu.present", text);
}

std::optional<Misfit> CheckLabel(std::string_view text) {
  const size_t equals = text.find('=');
  const bool good = equals != std::string_view::npos && equals > 0 &&
                    text.find_first_of(" \t!,()") == std::string_view::npos &&
                    text.find('=', equals + 1) == std::string_view::npos;
  return good ? std::nullopt : std::optional(Must("LABEL=VALUE, such as gpu=on", text));
}

}  // namespace

std::vector<Option> ProgramOptions() {
  return {
      {.key = "kubeconfig",
       .flag = "kubeconfig",
       .variable = "KUBECONFIG",
       .member = &Settings::kubeconfig,
       .usual = "the pod's service account",
       .doc = "The kubeconfig for the API server."},
      {.key = "log.level",
       .member = &Settings::log_level,
       .values = {"debug", "info", "warn", "error", "off"},
       .doc = "Lines below this level are left out."},
      {.key = "log.format",
       .member = &Settings::log_format,
       .values = {"text", "json"},
       .doc = "Each event is one line of text, or one JSON object."},
      {.flag = "v",
       .member = &Settings::verbosity,
       .max = 1000,
       .doc = "5 and more: the log's level is debug."},
      {.key = "extender.address",
       .flag = "extender-bind",
       .member = &Settings::extender_address,
       .check = CheckAddress,
       .doc = "The address for kube-scheduler, for this pod alone: a program that reaches it can "
              "bind pods."},
      {.key = "status.address",
       .flag = "metrics-bind-address",
       .member = &Settings::status_address,
       .check = CheckAddress,
       .doc = "The address of metrics, /healthz and /readyz."},
  };
}

std::vector<Option> WebhookOptions() {
  return {
      {.key = "webhook.address",
       .flag = "http_bind",
       .member = &Settings::webhook_address,
       .check = CheckAddress,
       .doc = "The address at which the API server asks about new pods."},
      {.key = "webhook.certificateFile",
       .flag = "cert_file",
       .member = &Settings::certificate_file,
       .check = CheckAbsolutePath,
       .usual = "made in process",
       .doc = "The webhook's certificate. The program reads it again when it changes."},
      {.key = "webhook.keyFile",
       .flag = "key_file",
       .member = &Settings::key_file,
       .check = CheckAbsolutePath,
       .usual = "made in process",
       .doc = "The key of the webhook's certificate."},
      {.key = "webhook.takesDefaultScheduler",
       .flag = "force-overwrite-default-scheduler",
       .member = &Settings::takes_default_scheduler,
       .doc = "Whether the webhook takes pods that ask for our resources and name no scheduler, or "
              "default-scheduler."},
      {.key = "webhook.nodeLabel",
       .member = &Settings::node_label,
       .check = CheckLabelKey,
       .usual = "none: pods stay as they are",
       .doc = "The key of a label that all nodes with our devices have. Pods that ask for these "
              "devices get a node affinity for it."},
      {.key = "webhook.guard",
       .member = &Settings::guard,
       .values = {"auto", "always", "never"},
       .doc = "Whether new pods with annotations of HAMi's protocol are refused. auto: if the API "
              "server is older than 1.30, and so cannot have deploy/hami/policy.yaml."},
      {.key = "webhook.protocolWriters",
       .member = &Settings::protocol_writers,
       .check = CheckUser,
       .doc = "Users that may create pods with these annotations, as in deploy/hami/policy.yaml."},
      {.key = "webhook.administrators",
       .member = &Settings::administrators,
       .check = CheckUser,
       .doc = "Groups that may create pods with these annotations, as in deploy/hami/policy.yaml."},
  };
}

std::vector<Option> LeaseOptions() {
  return {
      {.key = "lease.use",
       .flag = "leader-elect",
       .member = &Settings::uses_lease,
       .doc = "Whether this replica leads only while the kube-scheduler of its pod holds the "
              "Lease. If not, it always leads."},
      {.key = "lease.name",
       .flag = "leader-elect-resource-name",
       .member = &Settings::lease_name,
       .check = CheckName,
       .usual = "the first of `schedulerNames`",
       .doc = "The Lease's name, as in kube-scheduler's configuration."},
      {.key = "lease.namespace",
       .flag = "leader-elect-resource-namespace",
       .variable = "POD_NAMESPACE",
       .member = &Settings::lease_namespace,
       .check = CheckName,
       .usual = "none: no Lease is followed",
       .doc = "The Lease's namespace, the pod's own."},
  };
}

std::vector<std::string> VendorNames() {
  std::vector<std::string> names{"nvidia"};
  names.insert(names.end(), hami::kFamilies.begin(), hami::kFamilies.end());
  return names;
}

std::vector<Option> PodOptions() {
  return {
      {.key = "schedulerNames",
       .flag = "scheduler-name",
       .member = &Settings::scheduler_names,
       .check = CheckName,
       .doc = "The scheduler names of our pods, each a profile in kube-scheduler's configuration. "
              "The webhook writes the first into pods that name none."},
      {.key = "vendors",
       .member = &Settings::vendors,
       .values = VendorNames(),
       .doc = "The vendors of the placed devices. With HAMi's file, they are those that have a "
              "block there."},
      {.key = "nodes.labels",
       .flag = "node-label-selector",
       .member = &Settings::node_labels,
       .check = CheckLabel,
       .usual = "none: every node",
       .doc = "The labels that a node must have, all of them, for its devices to count."},
      {.key = "nodes.lockTimeout",
       .flag = "node-lock-timeout",
       .variable = "HAMI_NODELOCK_EXPIRE",
       .member = &Settings::lock_timeout,
       .min = 1000,
       .max = kMostTime,
       .doc = "The age at which a node's lock is broken, if its device plugin needs one."},
      {.key = "nodes.lockPatience",
       .flag = "node-lock-retry-timeout",
       .member = &Settings::lock_patience,
       .max = kMostTime,
       .doc = "How long a binding waits for that lock. The time must be less than kube-scheduler's "
              "httpTimeout."},
      {.key = "policies.node",
       .flag = "node-scheduler-policy",
       .member = &Settings::node_policy,
       .values = {"binpack", "spread"},
       .doc = "Which node goes first. binpack: the fullest. spread: the emptiest."},
      {.key = "policies.devices",
       .flag = "gpu-scheduler-policy",
       .member = &Settings::device_policies,
       .values = {"binpack", "spread", "mutex", "numa", "topology-aware"},
       .doc = "Which devices of a node go first. Of several words, the first weighs most."},
      {.key = "policies.weights.slot",
       .member = &Settings::slot_weight,
       .max = kMostWeight,
       .doc = "The weight of a device's containers in its score."},
      {.key = "policies.weights.core",
       .member = &Settings::core_weight,
       .max = kMostWeight,
       .doc = "The weight of a device's compute time in its score."},
      {.key = "policies.weights.memory",
       .member = &Settings::memory_weight,
       .max = kMostWeight,
       .doc = "The weight of a device's memory in its score."},
  };
}

std::vector<Option> NvidiaOptions() {
  return {
      {.key = "nvidia.count",
       .hami = "resourceCountName",
       .member = &Settings::count_name,
       .check = CheckResourceName,
       .doc = "The resource that counts GPUs. Kubelet and kube-scheduler know it too."},
      {.key = "nvidia.memory",
       .hami = "resourceMemoryName",
       .member = &Settings::memory_name,
       .check = CheckResourceName,
       .doc = "The resource for memory of each GPU, in MiB."},
      {.key = "nvidia.percentage",
       .hami = "resourceMemoryPercentageName",
       .member = &Settings::percentage_name,
       .check = CheckResourceName,
       .doc = "The resource for memory of each GPU, in percent."},
      {.key = "nvidia.cores",
       .hami = "resourceCoreName",
       .member = &Settings::cores_name,
       .check = CheckResourceName,
       .doc = "The resource for compute time of each GPU, in percent."},
      {.key = "nvidia.priority",
       .hami = "resourcePriorityName",
       .member = &Settings::priority_name,
       .check = CheckResourceName,
       .doc = "The resource for a container's priority on its GPU: 0 is high, 1 is low."},
  };
}

std::vector<Option> AmountOptions() {
  return {
      {.key = "nvidia.defaultCount",
       .hami = "defaultGPUNum",
       .member = &Settings::default_count,
       .max = 1024,
       .doc = "GPUs of a container that asks only for a size. 0: it gets none."},
      {.key = "nvidia.defaultMemory",
       .hami = "defaultMemory",
       .member = &Settings::default_memory,
       .max = kMostMemory,
       .doc = "MiB of a container that asks for no memory. 0: all of the GPU."},
      {.key = "nvidia.defaultCores",
       .hami = "defaultCores",
       .member = &Settings::default_cores,
       .max = 100,
       .doc = "Percent of compute time of a container that asks for none. 0: no limit."},
      {.key = "nvidia.memoryFactor",
       .hami = "memoryFactor",
       .member = &Settings::memory_factor,
       .max = kMostFactor,
       .doc = "MiB in one unit of `nvidia.memory`, in pods and quotas. 0 counts as 1."},
      {.key = "nvidia.runtimeClass",
       .hami = "runtimeClassName",
       .member = &Settings::runtime_class,
       .check = CheckName,
       .usual = "none: pods stay as they are",
       .doc = "The runtime class for pods with GPUs that name none."},
      {.key = "nvidia.corePolicy",
       .hami = "gpuCorePolicy",
       .member = &Settings::core_policy,
       .values = {"default", "force", "disable"},
       .doc = "The variable GPU_CORE_UTILIZATION_POLICY of containers. default: it is not set."},
      {.key = "nvidia.hidesDevices",
       .hami = "overwriteEnv",
       .member = &Settings::hides_devices,
       .doc = "Whether containers that ask for no GPU get NVIDIA_VISIBLE_DEVICES=none."},
  };
}

}  // namespace tessera::scheduler
