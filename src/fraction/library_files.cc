// SPDX-License-Identifier: Apache-2.0
#include "fraction/library_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/characters.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "kubelet/checkpoint.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

constexpr std::string_view kLibraryPrefix = "libvgpu.so.";
constexpr std::string_view kVersionPrefix = "libvgpu.so.v";
constexpr size_t kDigits = 16;
constexpr size_t kMostLibrary = 256 << 20;
constexpr std::string_view kElf =
    "\x7f"
    "ELF";

// True for a name that InstallLibrary makes. HAMi's versions and other parties' files must not be
// removed.
bool IsInstalledName(std::string_view file) {
  if (!file.starts_with(kLibraryPrefix)) return false;
  file.remove_prefix(kLibraryPrefix.size());
  return file.size() == kDigits &&
         std::ranges::all_of(file, [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

// "v2.10.0" is newer than "v2.9.1", and a release is newer than its candidates ("v2.10.0-rc.1").
bool IsNewer(std::string_view version, std::string_view than) {
  const std::string_view numbers = version.substr(0, version.find('-'));
  const std::string_view others = than.substr(0, than.find('-'));
  if (numbers != others) return NaturalLess()(others, numbers);
  const bool released = numbers == version, other_released = others == than;
  return released != other_released ? released : NaturalLess()(than, version);
}

// "; its directory has a, b": files that may be meant instead; empty: none.
std::string Beside(const os::Root& root, const std::string& library) {
  constexpr size_t kMost = 5;
  const auto files = os::ListDirectory(root.Path(library.substr(0, library.rfind('/'))));
  std::vector<std::string> like;
  for (const std::string& file : files ? *files : std::vector<std::string>()) {
    const bool alike = file.starts_with("lib") && file.find(".so") != std::string::npos;
    if (alike && like.size() < kMost) like.push_back(Brief(file));
  }
  return like.empty() ? "" : "; its directory has " + Join(like, ", ");
}

}  // namespace

bool IsOwnLibrary(const os::Root& root, const std::string& library) {
  const auto text = os::ReadFile(root.Path(library), kMostLibrary);
  return text && text->find(limiter::kLibraryMark) != std::string::npos;
}

std::string FindLibrary(const os::Root& root, const std::string& directory,
                        const std::string& known) {
  std::string found = directory + "/libvgpu.so";
  std::string_view version;
  const auto files = os::ListDirectory(root.Path(directory));
  for (const std::string& file : files ? *files : std::vector<std::string>()) {
    if (!file.starts_with(kVersionPrefix)) continue;
    const std::string path = directory + "/" + file;
    const std::string_view its = std::string_view(file).substr(kVersionPrefix.size());
    if (!version.empty() && !IsNewer(its, version)) continue;
    const auto info = os::InspectTarget(root.Path(path));
    if (!info || info->type != os::FileInfo::Type::kFile) continue;
    if (path != known && IsOwnLibrary(root, path)) continue;
    version = its;
    found = path;
  }
  return found;
}

bool FindLibraryAnew(const os::Root& root, FractionRules& fractions) {
  if (!fractions.enforced || !fractions.library_by_rule) return false;
  std::string found = FindLibrary(root, fractions.directory, fractions.library);
  if (found == fractions.library) return false;
  fractions.library = std::move(found);
  fractions.own_library = IsOwnLibrary(root, fractions.library);
  return true;
}

Status CheckLibrary(const os::Root& root, const FractionRules& fractions) {
  if (fractions.library.empty()) {
    return Fail(Reason::kNotEnforced,
                "the limiting library could not be copied into {}; see the agent's log",
                fractions.directory);
  }
  const auto info = os::InspectTarget(root.Path(fractions.library));
  if (info && info->type == os::FileInfo::Type::kFile) return {};
  return Fail(Reason::kNotEnforced, "the limiting library is not at {}{}", fractions.library,
              Beside(root, fractions.library));
}

Result<std::string> InstallLibrary(const os::Root& root, const std::string& source,
                                   const std::string& directory) {
  const std::string library = TRY(os::ReadFile(root.Path(source), kMostLibrary));
  // The loader only warns about a file that is no library, and the program then runs without
  // limits. So it is refused.
  if (!library.starts_with(kElf)) {
    return Fail(Reason::kNotEnforced, "{} is not a library that a program can load", source);
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
    if (!resource.rendering.fractions) continue;
    FractionRules& fractions = *resource.rendering.fractions;
    if (!fractions.enforced) continue;
    if (fractions.library_by_rule) fractions.library = FindLibrary(root, fractions.directory);
    fractions.own_library =
        IsOwnLibrary(root, fractions.install.empty() ? fractions.library : fractions.install);
    if (fractions.install.empty()) continue;
    auto installed = InstallLibrary(root, fractions.install, fractions.directory);
    if (!installed) {
      log::LogError("cannot install the limiting library; no virtual GPU is granted without it",
                    {{"resource", resource.name},
                     {"from", fractions.install},
                     {"reason", ReasonName(installed.error().reason)},
                     {"error", installed.error().message}});
    }
    fractions.library = std::move(installed).value_or("");
  }
}

Status RemoveLibraries(const config::Config& config) {
  const os::Root root(config.root_prefix);
  for (const config::Resource& resource : config.resources) {
    const auto& fractions = resource.rendering.fractions;
    if (!fractions || fractions->install.empty()) continue;
    const std::string directory = root.Path(fractions->directory);
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
  if (!store_.any()) return named;
  for (const std::string& grant : TRY(store_.Grants())) {
    const auto record = TRY(store_.Find(grant));
    if (record) named.insert(record->library);
  }
  return named;
}

void OldLibraries::Remove(const std::map<std::string, std::set<std::string>>& newest_by_directory) {
  if (!mutex_.try_lock()) return;
  const MutexLock lock(mutex_, std::adopt_lock);
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
  // If the used libraries are unknown, all stay.
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
      log::Info("removed a version of the limiting library that no container uses",
                {{"library", path}});
    }
  }
}

}  // namespace tessera
