// SPDX-License-Identifier: Apache-2.0
// The configuration as checked structs. Plain data; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "choose/placement.h"
#include "config/schema/kind_config.h"
#include "grant/grant.h"
#include "health/health.h"
#include "share/share.h"

namespace tessera::config {

enum class Registration : uint8_t { kAuto, kKubeletSocket, kPluginWatcher };

struct KubeletConfig {
  std::string
      root;  // directory with device-plugins, plugins_registry, pod-resources; empty: detect
  Registration registration = Registration::kAuto;
  std::string socket_prefix = "tessera";  // prefix of the sockets' file names
  Duration register_timeout{12'000};      // one Register call
  Duration stream_timeout{10'000};        // the first ListAndWatch after Register
  Duration poll{2'000};                   // interval of looks at kubelet.sock, besides inotify
  bool operator==(const KubeletConfig&) const = default;
};

struct HealthConfig {
  HealthPolicy policy;
  Duration check_interval{5'000};
  Duration check_timeout{2'000};
  Duration stale_after{60'000};  // unhealthy after this long without an answer
  bool operator==(const HealthConfig&) const = default;
};

// The agent's use of the API server.
struct ApiConfig {
  bool use = true;         // if it has access to one
  std::string kubeconfig;  // empty: the pod's service account
  std::string node_name;   // empty: NODE_NAME, or with a kubeconfig the machine's name
  bool events = true;      // about devices that fall and come back
  std::string condition = "DevicesUnhealthy";  // of the node; "off": none
  bool operator==(const ApiConfig&) const = default;
};

// Where the node's labels are written.
enum class LabelsOutput : uint8_t {
  kOff,
  kFile,  // a feature file, which node feature discovery reads
  kNode,  // the node, through the API server
  kAuto,  // the file if its directory exists, else the node
};

// The GPUs that the labels describe.
enum class LabelledGpus : uint8_t {
  kDriver,  // the GPUs of NVIDIA's driver
  kVfio,    // the GPUs of vfio-pci, for virtual machines
};

struct LabelsConfig {
  LabelsOutput output = LabelsOutput::kOff;
  LabelledGpus gpus = LabelledGpus::kDriver;
  std::string file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";
  std::string machine_type_file = "/sys/class/dmi/id/product_name";
  Duration sleep_interval{60'000};
  bool timestamp = true;
  bool remove_on_exit = false;  // the file
  bool operator==(const LabelsConfig&) const = default;
};

struct Resource {
  std::string name;  // "dummy.com/npu"; also the source of its devices
  Policy policy;
  Placement placement = Placement::kSpread;
  Rendering rendering;
  std::string cdi_dir = "/var/run/cdi";
  // The section with the kind of device and its settings.
  KindConfig kind;
  bool operator==(const Resource&) const = default;
};

inline constexpr size_t kMostResources = 256;

struct Config {
  KubeletConfig kubelet;
  HealthConfig health;
  ApiConfig api;
  LabelsConfig labels;
  std::string state_dir = "/var/lib/tessera";
  std::string control_socket = "/run/tessera/agent.sock";
  std::string http_address = "127.0.0.1:9440";  // host:port, or "off"
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kText;
  Duration advertise_debounce{50};
  Duration ledger_interval{10'000};
  Duration ledger_pending{600'000};
  std::string root_prefix;  // for trials: /dev and /sys are looked up below it
  std::vector<Resource> resources;
  bool operator==(const Config&) const = default;
};

}  // namespace tessera::config
