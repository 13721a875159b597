// SPDX-License-Identifier: Apache-2.0
// kubelet's directory on this node, and what it offers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/files.h"

namespace tessera::kubelet {

// How a plugin gets known to kubelet.
enum class RegistrationPath : uint8_t {
  kKubeletSocket,  // Register on device-plugins/kubelet.sock
  kPluginWatcher,  // a socket below plugins_registry, which kubelet watches
};
std::string_view RegistrationPathName(RegistrationPath path);

struct Directories {
  std::string root;
  std::string device_plugins() const { return root + "/device-plugins"; }
  std::string kubelet_socket() const { return device_plugins() + "/kubelet.sock"; }
  std::string registry() const { return root + "/plugins_registry"; }
  std::string pod_resources() const { return root + "/pod-resources"; }
  std::string pod_resources_socket() const { return pod_resources() + "/kubelet.sock"; }
};

// Whether kubelet lives here: there is a device-plugins or a plugins_registry.
bool HasComeTo(const Directories& directories);

// The first of the usual directories in which kubelet lives: /var/lib/kubelet, then those of
// MicroK8s and k0s. Nothing when it lives in none yet.
std::optional<std::string> DetectRoot(const os::Root& prefix);

// What `auto` means on this root: the kubelet socket wherever device-plugins is, unless a file
// DEPRECATION in it tells plugins to stay away and there is a plugins_registry to go to; the plugin
// watcher otherwise.
RegistrationPath PreferredPath(const Directories& directories);

}  // namespace tessera::kubelet
