// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/library_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/characters.h"
#include "base/hash.h"
#include "base/log.h"
#include "kubelet/checkpoint.h"
#include "limiter/contract.h"

namespace tessera::agent {
namespace {

constexpr std::string_view kLibraryPrefix = "libvgpu.so.";
constexpr size_t kDigits = 16;
constexpr size_t kMostLibrary = 256 << 20;
constexpr std::string_view kElf =
    "\x7f"
    "ELF";

// As InstallLibrary names it: HAMi's own versions and other people's files are not ours to remove.
bool IsInstalledName(std::string_view file) {
  if (!file.starts_with(kLibraryPrefix)) return false;
  file.remove_prefix(kLibraryPrefix.size());
  return file.size() == kDigits &&
         std::ranges::all_of(file, [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace

bool IsOwnLibrary(const os::Root& root, const std::string& library) {
  const auto text = os::ReadFile(root.Path(library), kMostLibrary);
  return text && text->find(limiter::kLibraryMark) != std::string::npos;
}

Result<std::string> InstallLibrary(const os::Root& root, const std::string& source,
                                   const std::string& directory) {
  const std::string library = TRY(os::ReadFile(root.Path(source), kMostLibrary));
  // A loader only complains of what is none, and the program goes on without limits.
  if (!library.starts_with(kElf)) {
    return Fail(Reason::kNotEnforced, "{} is no library that a program can load", source);
  }
  const std::string path = fmt::format("{}/{}{:016x}", directory, kLibraryPrefix, Fnv1a(library));
  const auto on_disk = os::ReadFile(root.Path(path), kMostLibrary);
  if (on_disk && *on_disk == library) return path;
  TRY(os::MakeDirectories(root.Path(directory), 0755));
  TRY(os::WriteFileAtomically(root.Path(path), library, 0755));
  log::Info("the limiting library is installed", {{"from", source}, {"at", path}});
  return path;
}

void InstallLibraries(config::Config& config) {
  const os::Root root(config.root_prefix);
  for (config::Resource& resource : config.resources) {
    if (!resource.rendering.vgpu) continue;
    Vgpu& vgpu = *resource.rendering.vgpu;
    if (!vgpu.enforced) continue;
    vgpu.own_library = IsOwnLibrary(root, vgpu.install.empty() ? vgpu.library : vgpu.install);
    if (vgpu.install.empty()) continue;
    auto installed = InstallLibrary(root, vgpu.install, vgpu.directory);
    if (!installed) {
      log::LogError("cannot install the limiting library: no virtual GPU is granted without it",
                    {{"resource", resource.name},
                     {"from", vgpu.install},
                     {"reason", ReasonName(installed.error().reason)},
                     {"error", installed.error().message}});
    }
    vgpu.library = std::move(installed).value_or("");
  }
}

Status RemoveLibraries(const config::Config& config) {
  const os::Root root(config.root_prefix);
  for (const config::Resource& resource : config.resources) {
    const auto& vgpu = resource.rendering.vgpu;
    if (!vgpu || vgpu->install.empty()) continue;
    const std::string directory = root.Path(vgpu->directory);
    if (!os::Exists(directory)) continue;
    for (const std::string& file : TRY(os::ListDirectory(directory))) {
      if (IsInstalledName(file)) TRY(os::RemoveFile(directory + "/" + file));
    }
  }
  return {};
}

Result<std::set<std::string>> OldLibraries::Named() {
  std::set<std::string> named;
  const auto text = os::ReadFile(checkpoint_);
  if (!text && text.error().reason != Reason::kNotFound) return Fail(text.error());
  if (text) {
    const kubelet::Checkpoint checkpoint = TRY(kubelet::ParseCheckpoint(*text));
    for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
      for (const Mount& mount : entry.grant().mounts) named.insert(mount.host_path);
    }
  }
  if (!pins_.any()) return named;
  for (const std::string& grant : TRY(pins_.Grants())) {
    const auto pin = TRY(pins_.Find(grant));
    if (pin) named.insert(pin->library);
  }
  return named;
}

void OldLibraries::Remove(const std::map<std::string, std::set<std::string>>& newest_by_directory) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  std::set<std::string> old;
  for (const auto& [directory, newest] : newest_by_directory) {
    const auto files = os::ListDirectory(root_.Path(directory));
    for (const std::string& file : files.value_or(std::vector<std::string>())) {
      std::string path = directory + "/" + file;
      if (IsInstalledName(file) && !newest.contains(path)) old.insert(std::move(path));
    }
  }
  const auto former = std::exchange(unnamed_, {});
  if (old.empty()) return;
  // In doubt all stay.
  const auto named = Named();
  if (!named) return;
  const Steady now = clock_.Now();
  for (const std::string& path : old) {
    if (named->contains(path)) continue;
    const auto known = former.find(path);
    const Steady since = known == former.end() ? now : known->second;
    if (now - since < kUnnamed) {
      unnamed_[path] = since;
    } else if (os::RemoveFile(root_.Path(path))) {
      log::Info("a version of the limiting library that no container has is removed",
                {{"library", path}});
    }
  }
}

}  // namespace tessera::agent
