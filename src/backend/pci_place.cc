// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_place.h"

#include <fmt/core.h>

#include <string>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera {
namespace {

sysfs::Directory DirectoryOf(const os::Root& root, std::string_view address) {
  return sysfs::Directory(root.Path(fmt::format("/sys/bus/pci/devices/{}", address)));
}

}  // namespace

void ReadPciPlace(const os::Root& root, std::string_view address, DeviceTraits& traits) {
  constexpr std::string_view kDevices = "/sys/devices/", kBelow = "../../../devices/";
  const std::string link = root.Path(fmt::format("/sys/bus/pci/devices/{}", address));
  // The kernel's own link has the path. To follow any link costs a system call for each part.
  const auto target = os::ReadLink(link);
  if (target && target->starts_with(kBelow)) {
    traits.pci_path = target->substr(kBelow.size());
  } else if (os::Exists(link)) {
    const std::string path = root.WithoutPrefix(os::FollowBelow(root.prefix(), link));
    if (path.starts_with(kDevices)) traits.pci_path = path.substr(kDevices.size());
  } else {
    return;
  }
  const auto group = os::ReadLink(link + "/iommu_group");
  if (!group) return;
  const auto number = sysfs::Number<int>(FileName(*group));
  if (number) traits.iommu_group = number;
}

bool IsAsleep(const sysfs::Directory& function) {
  return function.Text("power/runtime_status") == "suspended";
}

bool IsAsleep(const os::Root& root, std::string_view address) {
  return IsAsleep(DirectoryOf(root, address));
}

bool IsOffTheBus(const sysfs::Directory& function) {
  constexpr size_t kHead = 8;  // ids, command and status
  return function.Head("config", kHead) == std::string(kHead, '\xff');
}

bool IsOffTheBus(const os::Root& root, std::string_view address) {
  return IsOffTheBus(DirectoryOf(root, address));
}

}  // namespace tessera
