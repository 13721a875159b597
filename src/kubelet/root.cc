// SPDX-License-Identifier: Apache-2.0
#include "kubelet/root.h"

namespace tessera::kubelet {

std::string_view RegistrationPathName(RegistrationPath path) {
  return path == RegistrationPath::kKubeletSocket ? "kubelet-socket" : "plugin-watcher";
}

bool HasComeTo(const Directories& directories) {
  return os::Exists(directories.device_plugins()) || os::Exists(directories.registry());
}

std::optional<std::string> DetectRoot(const os::Root& prefix) {
  for (const char* candidate :
       {"/var/lib/kubelet", "/var/snap/microk8s/common/var/lib/kubelet", "/var/lib/k0s/kubelet"}) {
    Directories directories{prefix.Path(candidate)};
    if (HasComeTo(directories)) return directories.root;
  }
  return std::nullopt;
}

RegistrationPath PreferredPath(const Directories& directories) {
  // Our container may have only device-plugins mounted.
  if (!os::Exists(directories.registry())) return RegistrationPath::kKubeletSocket;
  const bool deprecated = os::Exists(directories.device_plugins() + "/DEPRECATION");
  return os::Exists(directories.device_plugins()) && !deprecated ? RegistrationPath::kKubeletSocket
                                                                 : RegistrationPath::kPluginWatcher;
}

}  // namespace tessera::kubelet
