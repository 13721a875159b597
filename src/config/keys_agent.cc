// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

const auto kKubelet = [](auto& config, const At&) -> auto& { return config.kubelet; };
const auto kHealth = [](auto& config, const At&) -> auto& { return config.health; };
const auto kApi = [](auto& config, const At&) -> auto& { return config.api; };
const auto kLabels = [](auto& config, const At&) -> auto& { return config.labels; };
const auto kPolicy = [](auto& config, const At&) -> auto& { return config.health.policy; };

Key Section(std::string_view name, std::string_view doc, Keys children) {
  return {.name = name, .type = Type::kSection, .doc = doc, .children = std::move(children)};
}

Key VersionKey() {
  return {.name = "version",
          .type = Type::kEnum,
          .doc = "The version of this format.",
          .example = kVersion,
          .default_note = "none: it must be there",
          .required = true,
          .values = {std::string(kVersion)},
          .field = {[](Config&, const At&, const Value&) {},
                    [](const Config&, const At&) { return Value(std::string(kVersion)); }}};
}

std::vector<Key> KubeletPlaceKeys() {
  const Choices<Registration> registration = {
      {"auto", Registration::kAuto},
      {"kubelet-socket", Registration::kKubeletSocket},
      {"plugin-watcher", Registration::kPluginWatcher},
  };
  return {
      {.name = "root",
       .type = Type::kPath,
       .doc = "Kubelet's directory. It contains `device-plugins`, `plugins_registry` and "
              "`pod-resources`.",
       .example = "/var/lib/kubelet",
       .default_note = "the first of /var/lib/kubelet and those of MicroK8s and k0s that is there",
       .effect = Effect::kRestart,
       .field = Bind(kKubelet, &KubeletConfig::root)},
      {.name = "registration",
       .type = Type::kEnum,
       .doc = "How the agent registers with kubelet. `kubelet-socket`: by a call to "
              "`kubelet.sock`. `plugin-watcher`: by a socket in `plugins_registry`. `auto`: the "
              "first of the two that is there and not deprecated.",
       .example = "kubelet-socket",
       .values = NamesOf(registration),
       .effect = Effect::kRestart,
       .field = BindEnum(kKubelet, &KubeletConfig::registration, registration)},
      {.name = "socketPrefix",
       .doc = "The beginning of the file names of the agent's sockets. Two agents with different "
              "configurations on one node need different prefixes; the two agents of an update "
              "share one.",
       .example = "tessera-test",
       .check = CheckSocketPrefix,
       .effect = Effect::kRestart,
       .field = Bind(kKubelet, &KubeletConfig::socket_prefix)},
  };
}

std::vector<Key> KubeletTimeKeys() {
  return {
      {.name = "registerTimeout",
       .type = Type::kTime,
       .doc = "The limit for one Register call. Kubelet calls the agent back within it.",
       .example = "15s",
       .min = kSecond,
       .max = 2 * kMinute,
       .effect = Effect::kRestart,
       .field = Bind(kKubelet, &KubeletConfig::register_timeout)},
      {.name = "streamTimeout",
       .type = Type::kTime,
       .doc = "How long kubelet may take to ask for the devices after a registration. After that, "
              "the resource registers again.",
       .example = "20s",
       .min = kSecond,
       .max = 10 * kMinute,
       .effect = Effect::kRestart,
       .field = Bind(kKubelet, &KubeletConfig::stream_timeout)},
      {.name = "pollInterval",
       .type = Type::kTime,
       .doc = "How often the agent polls kubelet's directory, in addition to its watch. While all "
              "resources are served without changes, it polls every 30 s.",
       .example = "1s",
       .min = 100,
       .max = 5 * kMinute,
       .effect = Effect::kRestart,
       .field = Bind(kKubelet, &KubeletConfig::poll)},
  };
}

Key KubeletKey() {
  return Section("kubelet", "Where kubelet is and how to talk to it.", [] {
    std::vector<Key> keys = KubeletPlaceKeys();
    for (Key& key : KubeletTimeKeys()) keys.push_back(std::move(key));
    return keys;
  });
}

std::vector<Key> FallKeys() {
  return {
      {.name = "failures",
       .type = Type::kInt,
       .doc = "The number of bad checks within `window` that makes a device unhealthy.",
       .example = "5",
       .unit = "bad checks",
       .min = 1,
       .max = 100,
       .field = Bind(kPolicy, &HealthPolicy::failures)},
      {.name = "window",
       .type = Type::kTime,
       .doc = "How long a bad check counts.",
       .example = "2m",
       .min = kSecond,
       .max = kDay,
       .field = Bind(kPolicy, &HealthPolicy::window)},
      {.name = "passes",
       .type = Type::kInt,
       .doc = "The number of good checks in a row that a device needs to recover.",
       .example = "3",
       .unit = "good checks",
       .min = 1,
       .max = 100,
       .field = Bind(kPolicy, &HealthPolicy::passes)},
      {.name = "recovery",
       .type = Type::kTime,
       .doc = "How long a device must stay free of failures before it is healthy again.",
       .example = "30s",
       .min = 0,
       .max = kDay,
       .field = Bind(kPolicy, &HealthPolicy::recovery)},
  };
}

std::vector<Key> FlapKeys() {
  return {
      {.name = "flaps",
       .type = Type::kInt,
       .doc = "The number of falls within `flapWindow` that makes a device flapping. A device "
              "falls when it becomes unhealthy.",
       .example = "5",
       .unit = "falls",
       .min = 2,
       .max = 100,
       .field = Bind(kPolicy, &HealthPolicy::flaps)},
      {.name = "flapWindow",
       .type = Type::kTime,
       .doc = "How long a fall counts towards `flaps`.",
       .example = "1h",
       .min = kSecond,
       .max = 7 * kDay,
       .field = Bind(kPolicy, &HealthPolicy::flap_window)},
      {.name = "hold",
       .type = Type::kTime,
       .doc = "How long a flapping device is held out. The time doubles with every further fall.",
       .example = "5m",
       .min = 0,
       .max = 7 * kDay,
       .field = Bind(kPolicy, &HealthPolicy::hold)},
      {.name = "holdLimit",
       .type = Type::kTime,
       .doc = "The longest time that a flapping device is held out.",
       .example = "2h",
       .min = 0,
       .max = 7 * kDay,
       .field = Bind(kPolicy, &HealthPolicy::hold_limit)},
  };
}

std::vector<Key> CheckKeys() {
  return {
      {.name = "checkInterval",
       .type = Type::kTime,
       .doc = "How often every device is checked. A kind that reports failures by itself (`dummy`) "
              "has its healthy devices checked every half `staleAfter`.",
       .example = "10s",
       .min = 100,
       .max = kHour,
       .field = Bind(kHealth, &HealthConfig::check_interval)},
      {.name = "checkTimeout",
       .type = Type::kTime,
       .doc = "A check that takes longer counts as a bad one.",
       .example = "5s",
       .min = 10,
       .max = kHour,
       .field = Bind(kHealth, &HealthConfig::check_timeout)},
      {.name = "staleAfter",
       .type = Type::kTime,
       .doc = "A device without a check result for this long is unhealthy. The time is at least "
              "the sum of `checkInterval` and `checkTimeout`.",
       .example = "2m",
       .min = kSecond,
       .max = kDay,
       .field = Bind(kHealth, &HealthConfig::stale_after)},
  };
}

Key HealthKey() {
  return Section("health", "When a device counts as healthy.", [] {
    std::vector<Key> keys = FallKeys();
    for (Key& key : FlapKeys()) keys.push_back(std::move(key));
    for (Key& key : CheckKeys()) keys.push_back(std::move(key));
    return keys;
  });
}

Key ApiKey() {
  return Section(
      "api",
      "What the agent reports to the API server. Its answers to kubelet never wait for the API "
      "server.",
      [] {
        return std::vector<Key>{
            {.name = "use",
             .type = Type::kBool,
             .doc = "Whether the agent reports to the API server. Access needs a service account "
                    "and a node's name, or a kubeconfig.",
             .example = "false",
             .effect = Effect::kRestart,
             .field = Bind(kApi, &ApiConfig::use)},
            {.name = "kubeconfig",
             .type = Type::kPath,
             .doc = "The kubeconfig of an agent that runs outside a pod. The agent uses its "
                    "current context.",
             .example = "/etc/kubernetes/kubelet.conf",
             .default_note = "the pod's service account",
             .effect = Effect::kRestart,
             .field = Bind(kApi, &ApiConfig::kubeconfig)},
            {.name = "nodeName",
             .doc = "The name of this node at the API server.",
             .example = "worker-1",
             .default_note = "the variable NODE_NAME; with a kubeconfig, the machine's name",
             .effect = Effect::kRestart,
             .field = Bind(kApi, &ApiConfig::node_name)},
            {.name = "events",
             .type = Type::kBool,
             .doc = "Whether the agent emits events when a device falls or recovers, on the node "
                    "and on the pods that hold the device.",
             .example = "false",
             .effect = Effect::kRestart,
             .field = Bind(kApi, &ApiConfig::events)},
            {.name = "condition",
             .doc = "The type of the node's condition that reports unhealthy devices, or `off`.",
             .example = "GPUUnhealthy",
             .check = CheckConditionType,
             .effect = Effect::kRestart,
             .field = Bind(kApi, &ApiConfig::condition)}};
      });
}

std::vector<Key> LogKeys() {
  const Choices<log::Level> level = {{"debug", log::Level::kDebug},
                                     {"info", log::Level::kInfo},
                                     {"warn", log::Level::kWarn},
                                     {"error", log::Level::kError},
                                     {"off", log::Level::kOff}};
  const Choices<log::Format> format = {{"text", log::Format::kText}, {"json", log::Format::kJson}};
  return {{.name = "level",
           .type = Type::kEnum,
           .doc = "Lines below this level are left out.",
           .example = "debug",
           .values = NamesOf(level),
           .field = BindEnum(kTop, &Config::log_level, level)},
          {.name = "format",
           .type = Type::kEnum,
           .doc = "Each event is one line of text, or one JSON object.",
           .example = "json",
           .values = NamesOf(format),
           .field = BindEnum(kTop, &Config::log_format, format)}};
}

std::vector<Key> LabelFileKeys() {
  return {
      {.name = "file",
       .type = Type::kPath,
       .doc = "The feature file, in the directory that node feature discovery reads.",
       .example = "/etc/kubernetes/node-feature-discovery/features.d/gfd",
       .default_note = "the file of GPU feature discovery, as in the example",
       .field = Bind(kLabels, &LabelsConfig::file)},
      {.name = "machineTypeFile",
       .type = Type::kPath,
       .doc = "The file that names the machine type of the node.",
       .example = "/sys/class/dmi/id/product_name",
       .field = Bind(kLabels, &LabelsConfig::machine_type_file)},
      {.name = "sleepInterval",
       .type = Type::kTime,
       .doc = "How often the agent updates the labels, in addition to changes of devices.",
       .example = "5m",
       .min = kSecond,
       .max = kDay,
       .field = Bind(kLabels, &LabelsConfig::sleep_interval)},
      {.name = "timestamp",
       .type = Type::kBool,
       .doc = "Whether a label shows when the configuration took effect.",
       .example = "false",
       .field = Bind(kLabels, &LabelsConfig::timestamp)},
      {.name = "removeOnExit",
       .type = Type::kBool,
       .doc = "Whether the agent removes the file when it ends. If not, the labels stay through an "
              "update of the agent.",
       .example = "true",
       .field = Bind(kLabels, &LabelsConfig::remove_on_exit)},
  };
}

std::vector<Key> LabelsKeys() {
  const Choices<LabelsOutput> output = {{"off", LabelsOutput::kOff},
                                        {"file", LabelsOutput::kFile},
                                        {"node", LabelsOutput::kNode},
                                        {"auto", LabelsOutput::kAuto}};
  const Choices<LabelledGpus> gpus = {{"driver", LabelledGpus::kDriver},
                                      {"vfio", LabelledGpus::kVfio}};
  std::vector<Key> keys = {
      {.name = "output",
       .type = Type::kEnum,
       .doc = "Where the agent writes labels. `off`: nowhere. `file`: into a file for node feature "
              "discovery. `node`: to the node, through the API server. `auto`: into the file if "
              "its directory exists, else to the node.",
       .example = "auto",
       .values = NamesOf(output),
       .field = BindEnum(kLabels, &LabelsConfig::output, output)},
      {.name = "gpus",
       .type = Type::kEnum,
       .doc = "The GPUs that the labels describe. `driver`: those of NVIDIA's driver. `vfio`: "
              "those that are bound to `vfio-pci`, for virtual machines.",
       .example = "vfio",
       .values = NamesOf(gpus),
       .field = BindEnum(kLabels, &LabelsConfig::gpus, gpus)}};
  for (Key& key : LabelFileKeys()) keys.push_back(std::move(key));
  return keys;
}

// The sections with the agent's directories and sockets.
std::vector<Key> PlaceKeys() {
  return {
      Section("state", "What the agent keeps across restarts.",
              [] {
                return std::vector<Key>{{.name = "dir",
                                         .type = Type::kPath,
                                         .doc = "The directory for health verdicts and cordons. It "
                                                "should outlive the agent's pod.",
                                         .example = "/var/lib/tessera",
                                         .effect = Effect::kRestart,
                                         .field = Bind(kTop, &Config::state_dir)}};
              }),
      Section(
          "control", "The socket for commands such as `tessera devices` and `tessera explain`.",
          [] {
            return std::vector<Key>{
                {.name = "socket",
                 .type = Type::kPath,
                 .doc =
                     "The unix socket that the agent listens on. Its path has at most 107 bytes.",
                 .example = "/run/tessera/agent.sock",
                 .check = CheckSocketPath,
                 .effect = Effect::kRestart,
                 .field = Bind(kTop, &Config::control_socket)}};
          }),
      Section("http", "Metrics, health and status pages.",
              [] {
                return std::vector<Key>{
                    {.name = "address",
                     .doc = "The address to listen on: `ADDRESS:PORT`, `:PORT` for all addresses, "
                            "or `off`. Port `0` takes a free one.",
                     .example = "0.0.0.0:9440",
                     .check = CheckHttpAddress,
                     .effect = Effect::kRestart,
                     .field = Bind(kTop, &Config::http_address)}};
              }),
  };
}

std::vector<Key> PaceKeys() {
  return {
      Section("advertise", "How the agent sends devices to kubelet.",
              [] {
                return std::vector<Key>{{.name = "debounce",
                                         .type = Type::kTime,
                                         .doc = "Changes within this time go out together. The "
                                                "first change for the worse goes out at once.",
                                         .example = "200ms",
                                         .min = 0,
                                         .max = 10 * kSecond,
                                         .field = Bind(kTop, &Config::advertise_debounce)}};
              }),
      Section("ledger", "Which pods hold which devices.",
              [] {
                return std::vector<Key>{
                    {.name = "interval",
                     .type = Type::kTime,
                     .doc =
                         "How often the agent asks kubelet which pods hold which devices. Without "
                         "changes and readers, it asks less and less often, down to once a minute.",
                     .example = "30s",
                     .min = kSecond,
                     .max = kHour,
                     .field = Bind(kTop, &Config::ledger_interval)},
                    {.name = "pendingLimit",
                     .type = Type::kTime,
                     .doc = "How long a grant that kubelet has not confirmed counts as in use.",
                     .example = "5m",
                     .min = kSecond,
                     .max = kDay,
                     .effect = Effect::kRestart,
                     .field = Bind(kTop, &Config::ledger_pending)}};
              }),
  };
}

}  // namespace

std::vector<Key> AgentKeys() {
  std::vector<Key> keys = {VersionKey(), KubeletKey(), HealthKey(), ApiKey()};
  for (Key& key : PlaceKeys()) keys.push_back(std::move(key));
  keys.push_back(Section("log", "The log, on standard error.", LogKeys));
  keys.push_back(
      Section("labels", "The labels of the node that describe its devices.", LabelsKeys));
  for (Key& key : PaceKeys()) keys.push_back(std::move(key));
  keys.push_back({.name = "rootPrefix",
                  .type = Type::kPath,
                  .doc = "For trials: the agent looks up `/dev`, `/sys` and kubelet's usual "
                         "directories below it.",
                  .example = "/tmp/machine",
                  .default_note = "none",
                  .effect = Effect::kRestart,
                  .field = Bind(kTop, &Config::root_prefix)});
  return keys;
}

}  // namespace tessera::config
