// SPDX-License-Identifier: Apache-2.0
// kubelet's directory on this node, and its registration paths. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/files.h"

namespace tessera::kubelet {

// How a plugin registers at kubelet.
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

// True if kubelet uses this root: device-plugins or plugins_registry exists.
bool HasComeTo(const Directories& directories);

// The first usual root that kubelet uses: /var/lib/kubelet, then those of MicroK8s and k0s. Nothing
// if it uses none yet.
std::optional<std::string> DetectRoot(const os::Root& prefix);

// The meaning of `auto` on this root. It is the kubelet socket if device-plugins exists, and the
// plugin watcher otherwise. A file DEPRECATION in device-plugins also selects the watcher, if
// plugins_registry exists.
RegistrationPath PreferredPath(const Directories& directories);

}  // namespace tessera::kubelet
