// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/devinfo.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backend/sysfs.h"
#include "json/json.h"

namespace tessera::rdma {
namespace {

constexpr std::string_view kEnding = "-device.json";

// The name's part before the address.
std::string PrefixOf(std::string_view resource) {
  std::string prefix(resource);
  std::ranges::replace(prefix, '/', '-');
  return prefix + "-";
}

// Another resource's name may begin with this one's.
bool IsAddress(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef:.") == text.npos &&
         text.find(':') != text.npos;
}

}  // namespace

std::string DevInfoName(std::string_view resource, std::string_view address) {
  return fmt::format("{}{}{}", PrefixOf(resource), address, kEnding);
}

std::string DevInfoText(const Function& function) {
  json::Object pci{{"pci-address", function.address}};
  if (!function.hca.empty()) pci["rdma-device"] = function.hca;
  return json::Write(json::Object{{"type", "pci"}, {"version", "1.1.0"}, {"pci", std::move(pci)}});
}

Status WriteDevInfo(const os::Root& root, std::string_view resource, const Function& function) {
  constexpr mode_t kReadable = 0644;
  constexpr mode_t kOpen = 0755;
  constexpr size_t kLongest = 4096;
  const std::string directory = root.Path(kDevInfo);
  const std::string path = fmt::format("{}/{}", directory, DevInfoName(resource, function.address));
  const std::string text = DevInfoText(function);
  const auto before = os::ReadFile(path, kLongest);
  if (before && *before == text) return {};
  TRY(os::MakeDirectories(directory, kOpen));
  return os::ReplaceFile(path, text, kReadable);
}

void RemoveOtherDevInfo(const os::Root& root, std::string_view resource,
                        const std::vector<Function>& functions) {
  const std::string directory = root.Path(kDevInfo), prefix = PrefixOf(resource);
  for (const std::string& name : sysfs::Names(directory)) {
    if (!name.starts_with(prefix) || !name.ends_with(kEnding)) continue;
    if (name.size() <= prefix.size() + kEnding.size()) continue;
    const std::string address =
        name.substr(prefix.size(), name.size() - prefix.size() - kEnding.size());
    if (!IsAddress(address) || Find(functions, address) != nullptr) continue;
    (void)os::RemoveFile(fmt::format("{}/{}", directory, name));
  }
}

}  // namespace tessera::rdma
