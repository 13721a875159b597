// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_place.h"

#include <fmt/core.h>

#include <charconv>
#include <string>

#include "base/text.h"

namespace tessera {

void ReadPciPlace(const os::Root& root, std::string_view address, DeviceTraits& traits) {
  constexpr std::string_view kDevices = "/sys/devices/";
  const std::string link = root.Path(fmt::format("/sys/bus/pci/devices/{}", address));
  if (!os::Exists(link)) return;
  const std::string path = root.WithoutPrefix(os::FollowBelow(root.prefix(), link));
  if (path.starts_with(kDevices)) traits.pci_path = path.substr(kDevices.size());
  const auto group = os::ReadLink(link + "/iommu_group");
  if (!group) return;
  const std::string_view digits = FileName(*group);
  const char* const end = digits.data() + digits.size();
  int number = 0;
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) traits.iommu_group = number;
}

}  // namespace tessera
