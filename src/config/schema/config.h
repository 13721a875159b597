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
  std::string socket_prefix = "tessera";  // file names of plugin sockets begin so
  Duration register_timeout{12'000};      // one Register call
  Duration stream_timeout{10'000};        // first ListAndWatch after Register
  Duration poll{2'000};                   // kubelet.sock is looked at this often besides inotify
  bool operator==(const KubeletConfig&) const = default;
};

struct HealthConfig {
  HealthPolicy policy;
  Duration check_interval{5'000};
  Duration check_timeout{2'000};
  Duration stale_after{60'000};  // no answer for so long: unhealthy
  bool operator==(const HealthConfig&) const = default;
};

// What the agent tells the API server.
struct ApiConfig {
  bool use = true;         // where there is access to one
  std::string kubeconfig;  // empty: the pod's service account
  std::string node_name;   // empty: NODE_NAME, or with a kubeconfig the machine's name
  bool events = true;      // of devices that fall and come back
  std::string condition = "DevicesUnhealthy";  // of the node; "off": none
  bool operator==(const ApiConfig&) const = default;
};

// Where the labels go that the node is told of by.
enum class LabelsOutput : uint8_t {
  kOff,
  kFile,  // a feature file, which node feature discovery reads
  kNode,  // the node, through the API server
  kAuto,  // the file where the directory of it is there, else the node
};

// Which GPUs they tell of.
enum class LabelledGpus : uint8_t {
  kDriver,  // those that NVIDIA's driver has
  kVfio,    // those that vfio-pci has, for virtual machines
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
  // The section that says which kind of device this is and how to find it.
  KindConfig kind;
  bool operator==(const Resource&) const = default;
};

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
  std::string root_prefix;  // for trying things out: /dev, /sys are looked up below it
  std::vector<Resource> resources;
  bool operator==(const Config&) const = default;
};

}  // namespace tessera::config
