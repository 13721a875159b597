// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/hooks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "os/files.h"

namespace tessera::nvidia {
namespace {

constexpr std::array<std::string_view, 4> kHookPaths = {
    "/usr/bin/nvidia-cdi-hook", "/usr/local/nvidia/toolkit/nvidia-cdi-hook", "/usr/bin/nvidia-ctk",
    "/usr/local/nvidia/toolkit/nvidia-ctk"};

// The directories of Debian and its derivatives, and of others.
#ifdef __aarch64__
constexpr std::array<std::string_view, 2> kDefaultDirectories = {"/usr/lib/aarch64-linux-gnu",
                                                                 "/usr/lib64"};
#else
constexpr std::array<std::string_view, 2> kDefaultDirectories = {"/usr/lib/x86_64-linux-gnu",
                                                                 "/usr/lib64"};
#endif

}  // namespace

std::string FindHook(const NvidiaConfig& config, const Tree* host) {
  if (!config.cdi_hook_path.empty()) return config.cdi_hook_path;
  if (host == nullptr) return "";
  for (const std::string_view path : kHookPaths) {
    const auto info = os::InspectTarget(host->seen + host->Follow(std::string(path)));
    if (info && info->type == os::FileInfo::Type::kFile) return std::string(path);
  }
  return "";
}

bool Hooks::Without(CdiPiece piece) const {
  return std::ranges::count(left_out_, piece) > 0;
}

void Hooks::Add(CdiPiece piece, const std::string& name, std::vector<std::string> args,
                cdi::Edits& edits) const {
  if (!available() || Without(piece)) return;
  const std::string program(FileName(program_));
  cdi::Hook hook{.name = "createContainer",
                 .path = program_,
                 .args = {program},
                 .env = {"NVIDIA_CTK_DEBUG=false"}};
  if (program == "nvidia-ctk") hook.args.emplace_back("hook");
  hook.args.push_back(name);
  hook.args.insert(hook.args.end(), args.begin(), args.end());
  edits.hooks.push_back(std::move(hook));
}

void Hooks::AddLinks(const std::vector<std::string>& links, cdi::Edits& edits) const {
  if (links.empty()) return;
  std::vector<std::string> args;
  for (const std::string& link : links) {
    args.emplace_back("--link");
    args.push_back(link);
  }
  Add(CdiPiece::kCreateSymlinks, "create-symlinks", std::move(args), edits);
}

void Hooks::AddFor(const DriverLibraries& libraries, cdi::Edits& edits) const {
  std::vector<std::string> links;
  for (const NameLink& link : libraries.links) {
    links.push_back(fmt::format("{}::{}", link.target, link.path));
  }
  AddLinks(links, edits);
  if (!libraries.version.empty()) {
    Add(CdiPiece::kEnableCudaCompat, "enable-cuda-compat",
        {fmt::format("--host-driver-version={}", libraries.version)}, edits);
  }
  std::vector<std::string> folders;
  for (const std::string& directory : libraries.directories) {
    folders.emplace_back("--folder");
    folders.push_back(directory);
  }
  if (!folders.empty()) {
    Add(CdiPiece::kUpdateLdcache, "update-ldcache", std::move(folders), edits);
  }
  Add(CdiPiece::kDisableDeviceNodeModification, "disable-device-node-modification", {}, edits);
  Add(CdiPiece::kUpdateApplicationProfile, "update-application-profile", {}, edits);
}

std::vector<std::string> ReadOptions() {
  return {"ro", "nosuid", "nodev", "rbind", "rprivate"};
}

std::vector<std::string> SocketOptions() {
  return {"nosuid", "nodev", "rbind", "rprivate", "noexec"};
}

void MountUnderAllNames(const Tree& tree, const DriverLibraries& libraries, cdi::Edits& edits) {
  const auto mount = [&](const std::string& path, const std::string& source) {
    const auto same = [&](const cdi::Mount& each) { return each.container_path == path; };
    if (std::ranges::any_of(edits.mounts, same)) return;
    edits.mounts.push_back(
        {.host_path = tree.host + source, .container_path = path, .options = ReadOptions()});
  };
  for (const NameLink& link : libraries.links) mount(link.path, link.source);
  for (const std::string& from : libraries.directories) {
    for (const std::string_view to : kDefaultDirectories) {
      const auto moved = [&](const std::string& path) {
        return path.starts_with(from + "/") ? fmt::format("{}{}", to, path.substr(from.size()))
                                            : path;
      };
      for (const DriverFile& file : libraries.files) mount(moved(file.path), file.source);
      for (const NameLink& link : libraries.links) mount(moved(link.path), link.source);
    }
  }
}

}  // namespace tessera::nvidia
