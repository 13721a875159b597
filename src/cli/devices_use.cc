// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_use.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command/fields.h"

namespace tessera::cli {
namespace {

struct Use {
  uint64_t memory = 0;          // bytes
  std::optional<double> got{};  // percent of the device's time
};
// By pod UID, container and device.
using Uses = std::map<std::tuple<std::string, std::string, std::string>, Use>;

Uses ReadUses(const monitor::Granted& granted, const os::Root& root, Duration measured,
              const std::function<void(Duration)>& wait) {
  const monitor::Places places{.root = root, .directories = {}};
  auto now = monitor::ReadContainers(granted.containers, places);
  if (now && measured.count() > 0) {
    wait(measured);
    const auto before = *std::exchange(now, monitor::ReadContainers(granted.containers, places));
    if (now) monitor::Compare(before, *now);
  }
  Uses uses;
  if (!now) return uses;
  for (const monitor::Container& container : *now) {
    for (size_t i = 0; i < container.region.devices.size(); ++i) {
      const region::Device& device = container.region.devices[i];
      uses[{container.pod, container.container, device.uuid}] = {device.used, container.got[i]};
    }
  }
  return uses;
}

}  // namespace

void AddUse(const monitor::Granted& granted, const os::Root& root, Duration measured,
            const std::function<void(Duration)>& wait, json::Value& inventory) {
  const Uses uses = ReadUses(granted, root, measured, wait);
  json::Value* devices =
      inventory.is_object() ? inventory.get_object().if_contains("devices") : nullptr;
  if (uses.empty() || devices == nullptr || !devices->is_array()) return;
  for (json::Value& device : devices->get_array()) {
    json::Value* holders =
        device.is_object() ? device.get_object().if_contains("holders") : nullptr;
    if (holders == nullptr || !holders->is_array()) continue;
    const std::string id = TextIn(device.get_object(), "id");
    for (json::Value& value : holders->get_array()) {
      if (!value.is_object()) continue;
      json::Object& holder = value.get_object();
      const auto use = uses.find({TextIn(holder, "uid"), TextIn(holder, "container"), id});
      if (use == uses.end()) continue;
      holder["usedBytes"] = use->second.memory;
      if (use->second.got) holder["coresGot"] = *use->second.got;
    }
  }
}

}  // namespace tessera::cli
