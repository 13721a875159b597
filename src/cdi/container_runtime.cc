// SPDX-License-Identifier: Apache-2.0
#include "cdi/container_runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/kind.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi/runtime_config.h"
#include "os/process.h"

namespace tessera {
namespace {

constexpr size_t kMostConfig = 1 << 20;
constexpr const char* kContainerd = "/etc/containerd/config.toml";
constexpr const char* kCrio = "/etc/crio/crio.conf";
constexpr const char* kCriosSocket = "/run/crio/crio.sock";

// A distribution with a containerd of its own, which reads only this file.
struct Distribution {
  std::string_view mark{};  // in its kubelets' versions; empty: they have no mark
  const char* directory;
  const char* socket;
  const char* config;
};
constexpr Distribution kDistributions[] = {
    {"+k3s", "/var/lib/rancher/k3s/agent", "/run/k3s/containerd/containerd.sock",
     "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"},
    {"+rke2", "/var/lib/rancher/rke2/agent", "/run/k3s/containerd/containerd.sock",
     "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"},
    {"+k0s", "/var/lib/k0s", "/run/k0s/containerd.sock", "/etc/k0s/containerd.toml"},
    {"", "/var/snap/microk8s/current", "/var/snap/microk8s/common/run/containerd.sock",
     "/var/snap/microk8s/current/args/containerd.toml"},
};

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

// The first two numbers of "v1.36.3" or "2.2.0-k3s1".
std::optional<Version> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  Version version;
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  return version;
}

struct CdiSupport {
  Says says = Says::kNothing;
  std::string by{};
};

// Whether the node runs this distribution: by kubelet's version if known, else by its directory or
// socket. RKE2 uses k3s's socket.
bool IsOf(const Distribution& distribution, const os::Root& root, const std::string& kubelet) {
  if (kubelet.find(distribution.mark) == std::string::npos && !kubelet.empty()) return false;
  if (!distribution.mark.empty() && !kubelet.empty()) return true;
  return os::Exists(root.Path(distribution.directory)) ||
         os::Exists(root.Path(distribution.socket));
}

// The files that kubelet's containerd may have read. A node with a distribution may have other
// files, which another program's containerd reads.
std::vector<std::string> ContainerdFiles(const os::Root& root, const std::string& kubelet) {
  std::vector<std::string> files;
  bool is_of_any = false;
  for (const Distribution& distribution : kDistributions) {
    if (!IsOf(distribution, root, kubelet)) continue;
    is_of_any = true;
    if (os::Exists(root.Path(distribution.config))) files.emplace_back(distribution.config);
  }
  if (!is_of_any) files.emplace_back(kContainerd);
  return files;
}

bool IsCrio(const os::Root& root, const RuntimeVersions& versions) {
  return versions.runtime.starts_with("cri-o://") ||
         (versions.runtime.empty() && os::Exists(root.Path(kCriosSocket)));
}

// Which of several files counts is unknown. So all must say yes, and one no is enough, as a wrong
// yes would keep containers from starting.
CdiSupport ByConfiguration(const os::Root& root, const RuntimeVersions& versions) {
  if (IsCrio(root, versions)) return {CrioSays(root, kCrio), kCrio};
  CdiSupport told;
  for (const std::string& path : ContainerdFiles(root, versions.kubelet)) {
    const Says says = ContainerdSays(root, path);
    if (told.by.empty() || says == Says::kNo) told = {says, path};
    if (says == Says::kNo) return told;
    if (says == Says::kNothing) told.says = says;
  }
  if (told.says == Says::kNothing && versions.runtime.empty()) {
    return {CrioSays(root, kCrio), kCrio};
  }
  return told;
}

CdiSupport ByVersion(const std::string& runtime) {
  const size_t scheme = runtime.find("://");
  if (scheme == std::string::npos) return {};
  const std::string_view name = std::string_view(runtime).substr(0, scheme);
  const auto version = ParseVersion(std::string_view(runtime).substr(scheme + 3));
  if (!version) return {};
  if (name == "containerd") {
    if (*version >= Version{2, 0}) return {Says::kYes, runtime};
    return {*version < Version{1, 7} ? Says::kNo : Says::kNothing, runtime};
  }
  if (name == "cri-o") return {*version < Version{1, 23} ? Says::kNo : Says::kYes, runtime};
  return {};
}

// Whether the directory is the agent container's own. It ends with the container, and no runtime
// reads it.
bool IsContainersOwn(std::string directory) {
  if (!os::RunsInPod()) return false;
  while (directory.size() > 1 && !os::Exists(directory)) {
    directory.resize(std::max<size_t>(directory.rfind('/'), 1));
  }
  return os::OnSameMount(directory, "/");
}

// A directory that must be the host's and is not; empty: there is none.
std::string NotTheHosts(const config::Resource& resource, const os::Root& root) {
  const auto own = [&](const std::string& path) { return IsContainersOwn(root.Path(path)); };
  if (own(resource.cdi_dir)) return resource.cdi_dir;
  const CdiDescriber* const cdi = KindOf(resource)->cdi;
  if (cdi == nullptr) return "";
  const std::vector<std::string> told = cdi->Directories(resource);
  return !told.empty() && std::ranges::all_of(told, own) ? told.front() : "";
}

std::string FileOf(const std::string& state_dir) {
  return state_dir + "/container-runtime";
}

}  // namespace

RuntimeVersions VersionsOf(const json::Value& node) {
  const json::Object* object = node.if_object();
  for (const char* key : {"status", "nodeInfo"}) {
    object = object == nullptr ? nullptr : json::GetObject(*object, key);
  }
  if (object == nullptr) return {};
  return {.runtime = json::GetString(*object, "containerRuntimeVersion").value_or(""),
          .kubelet = json::GetString(*object, "kubeletVersion").value_or("")};
}

std::optional<std::string> ShowsCdi(const os::Root& root, const RuntimeVersions& versions) {
  const auto kubelet = ParseVersion(versions.kubelet);
  if (kubelet && *kubelet < Version{1, 29}) return std::nullopt;
  const CdiSupport configured = ByConfiguration(root, versions);
  const CdiSupport running = ByVersion(versions.runtime);
  if (configured.says == Says::kNo || running.says == Says::kNo) return std::nullopt;
  if (running.says == Says::kYes) return running.by;
  if (configured.says == Says::kYes) return configured.by;
  return std::nullopt;
}

std::optional<std::set<std::string>> RuntimeHandlers(const os::Root& root,
                                                     const RuntimeVersions& versions) {
  if (IsCrio(root, versions)) return std::nullopt;
  std::set<std::string> handlers;
  for (const std::string& path : ContainerdFiles(root, versions.kubelet)) {
    auto names = ContainerdHandlers(root, path);
    if (!names) return std::nullopt;
    handlers.merge(*names);
  }
  return handlers;
}

RuntimeVersions RememberedVersions(const std::string& state_dir) {
  const auto text = os::ReadFile(FileOf(state_dir), kMostConfig);
  if (!text) return {};
  const std::vector<std::string> lines = Split(*text, '\n');
  return lines.size() < 3 ? RuntimeVersions() : RuntimeVersions{lines[0], lines[1]};
}

Status RememberVersions(const std::string& state_dir, const RuntimeVersions& versions) {
  return os::WriteFileAtomically(FileOf(state_dir),
                                 fmt::format("{}\n{}\n", versions.runtime, versions.kubelet));
}

config::LoadResult SuitedToRuntime(config::LoadResult loaded) {
  if (!loaded.ok() || loaded.undecided.empty()) return loaded;
  const config::Config& config = loaded.config;
  const auto shown = ShowsCdi(os::Root(config.root_prefix), RememberedVersions(config.state_dir));
  if (!shown) return loaded;
  for (const size_t i : loaded.undecided) {
    const config::Resource& resource = config.resources[i];
    const std::string own = NotTheHosts(resource, os::Root(config.root_prefix));
    if (own.empty()) continue;
    log::Info(
        "CDI is not used although the container runtime supports it: a CDI directory is not the "
        "host's. Mount the host's there, or set 'strategies'",
        {{"resource", resource.name}, {"directory", own}});
    return loaded;
  }
  return config::PreferCdi(std::move(loaded), *shown);
}

}  // namespace tessera
