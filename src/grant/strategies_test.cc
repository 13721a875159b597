// SPDX-License-Identifier: Apache-2.0
// A container's grant under every combination of strategies, compared with NVIDIA's device plugin.
// The expected answer follows the plugin's own rules, in their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "grant/grant.h"

namespace tessera {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kDir[] = "/var/run/nvidia-container-devices";
constexpr char kVendor[] = "k8s.device-plugin.nvidia.com";
constexpr char kChannel[] = "/dev/nvidia-caps-imex-channels/channel0";
constexpr char kA[] = "8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
constexpr char kB[] = "1b9e3c55-77aa-4c1d-8f00-3a5b6c7d8e9f";

using Texts = std::vector<std::string>;

// Devices of a node, and the requested ones in another order.
struct Case {
  std::string name;
  Policy policy;
  Texts ids;
  Texts asked;
  Texts uuids;    // values for containers, in the GPUs' order
  Texts indices;  // values for containers, in the GPUs' order
  Texts own;      // the nodes of the requested devices
};

std::vector<Case> Cases() {
  const std::string a = std::string("GPU-") + kA;
  const std::string b = std::string("GPU-") + kB;
  const std::string mig_a = std::string("MIG-") + kA;
  const std::string mig_b = std::string("MIG-") + kB;
  const Texts gpus = {"/dev/nvidia0", "/dev/nvidia1"};
  return {
      {"whole", {}, {a, b}, {b, a}, {a, b}, {"0", "1"}, gpus},
      {"one", {}, {a, b}, {b}, {b}, {"1"}, {"/dev/nvidia1"}},
      {"replicas",
       {Division::kReplicas, 2},
       {a, b},
       {b + "::1", a + "::0", b + "::0"},
       {a, b},
       {"0", "1"},
       gpus},
      {"dash",
       {Division::kReplicas, 2, Separator::kDash},
       {a, b},
       {b + "-1", b + "-0"},
       {b},
       {"1"},
       {"/dev/nvidia1"}},
      // Two instances of one GPU share its node.
      {"mig",
       {},
       {mig_a, mig_b},
       {mig_b, mig_a},
       {mig_a, mig_b},
       {"0:0", "0:1"},
       {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap3", "/dev/nvidia-caps/nvidia-cap4",
        "/dev/nvidia-caps/nvidia-cap5", "/dev/nvidia-caps/nvidia-cap6"}},
  };
}

struct Setting {
  Texts strategies = {};
  bool index = false;
  bool specs = false;
  bool imex = false;
  std::vector<ExtraDevice> extras = {};
};

// A device that a container gets in addition to its GPUs, if switched on.
ExtraDevice ExtraOf(const std::string& variable, const char* cdi_name) {
  return {variable, fmt::format("{}/{}=all", kVendor, cdi_name)};
}
const std::vector<ExtraDevice> kExtras = {ExtraOf("NVIDIA_GDRCOPY", "gdrcopy"),
                                          ExtraOf("NVIDIA_GDS", "gds"),
                                          ExtraOf("NVIDIA_MOFED", "mofed")};

template <class T>
std::vector<T> Chosen(unsigned bits, const std::vector<T>& of) {
  std::vector<T> chosen;
  for (size_t i = 0; i < of.size(); ++i) {
    if ((bits >> i & 1) != 0) chosen.push_back(of[i]);
  }
  return chosen;
}

std::vector<Setting> Settings() {
  // In reverse: the configuration's order does not matter.
  const Texts all = {"cdi-cri", "cdi-annotations", "volume-mounts", "envvar"};
  std::vector<Setting> settings;
  for (unsigned strategies = 1; strategies < 16; ++strategies) {
    for (unsigned flags = 0; flags < 64; ++flags) {
      settings.push_back({.strategies = Chosen(strategies, all),
                          .index = (flags & 1) != 0,
                          .specs = (flags & 2) != 0,
                          .imex = (flags & 4) != 0,
                          .extras = Chosen(flags >> 3, kExtras)});
    }
  }
  return settings;
}

Offer OfferOfCase(const Case& of, const Setting& setting) {
  std::vector<Device> devices;
  for (size_t i = 0; i < of.ids.size(); ++i) {
    Device device;
    device.key = {kGpu, of.ids[i]};
    device.order = static_cast<int>(i);
    const bool mig = of.ids[i].starts_with("MIG");
    const std::string n = std::to_string(i);
    device.visible_as = !setting.index ? of.ids[i] : mig ? "0:" + n : n;
    Texts nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", mig ? "/dev/nvidia0" : "/dev/nvidia" + n};
    for (size_t cap = 3 + 2 * i; mig && cap < 5 + 2 * i; ++cap) {
      nodes.push_back("/dev/nvidia-caps/nvidia-cap" + std::to_string(cap));
    }
    if (setting.imex) nodes.emplace_back(kChannel);
    for (const std::string& node : nodes) device.nodes.push_back({"/host" + node, node, "rw"});
    devices.push_back(std::move(device));
  }
  const InventoryPtr inventory =
      Merge(std::make_shared<Inventory>(), kGpu, std::move(devices), [](const DeviceKey&) {
        return false;
      }).inventory;
  return Divide(kGpu, {of.policy}, *inventory, kGpu,
                [](const Device&) -> std::optional<Error> { return std::nullopt; });
}

Rendering RenderingOf(const Setting& setting) {
  Rendering rendering{{}, "NVIDIA_VISIBLE_DEVICES", std::string(kVendor) + "/gpu", kDir};
  for (const std::string& name : setting.strategies) {
    rendering.strategies.push_back(*StrategyFromName(name));
  }
  if (setting.specs)
    rendering.strategies.insert(rendering.strategies.begin(), Strategy::kDeviceSpecs);
  rendering.cdi_write = false;
  rendering.cdi_annotation_prefix = "cdi.k8s.io/nvidia-device-plugin_";
  rendering.channels = {{.node = kChannel,
                         .name = "0",
                         .env = "NVIDIA_IMEX_CHANNELS",
                         .mount = "imex",
                         .cdi_device = fmt::format("{}/imex-channel=0", kVendor)}};
  rendering.extras = setting.extras;
  return rendering;
}

// The plugin's rules, one after the other.
Grant Expected(const Case& of, const Setting& setting) {
  const auto uses = [&](const char* name) {
    return std::ranges::count(setting.strategies, name) > 0;
  };
  const Texts& names = setting.index ? of.indices : of.uuids;
  Grant grant;
  Texts cdi;
  for (const std::string& name : names) cdi.push_back(fmt::format("{}/gpu={}", kVendor, name));
  if (setting.imex) cdi.push_back(fmt::format("{}/imex-channel=0", kVendor));
  for (const auto& [variable, name] : setting.extras) {
    cdi.push_back(name);
    grant.envs[variable] = "enabled";
  }
  if (uses("cdi-annotations")) {
    grant.annotations = {{"cdi.k8s.io/nvidia-device-plugin_nvidia.com_gpu", Join(cdi, ",")}};
  }
  if (uses("cdi-cri")) grant.cdi_devices = cdi;
  if (uses("envvar")) {
    grant.envs["NVIDIA_VISIBLE_DEVICES"] = Join(names, ",");
    if (setting.imex) grant.envs["NVIDIA_IMEX_CHANNELS"] = "0";
  }
  if (uses("volume-mounts")) {
    grant.envs["NVIDIA_VISIBLE_DEVICES"] = kDir;
    Texts mounts = names;
    if (setting.imex) mounts.emplace_back("imex/0");
    for (const std::string& name : mounts) {
      grant.mounts.push_back({"/dev/null", fmt::format("{}/{}", kDir, name), false});
    }
  }
  if (setting.specs) {
    Texts nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
    nodes.insert(nodes.end(), of.own.begin(), of.own.end());
    if (setting.imex) nodes.emplace_back(kChannel);
    for (const std::string& node : nodes) grant.devices.push_back({"/host" + node, node, "rw"});
  }
  return grant;
}

TEST(Strategies, EveryCombinationAnswersByThePluginsRules) {
  for (const Case& of : Cases()) {
    for (const Setting& setting : Settings()) {
      const auto grant = Allocate(OfferOfCase(of, setting), RenderingOf(setting), of.asked);
      Texts names;
      for (const ExtraDevice& extra : setting.extras) names.push_back(extra.env);
      const std::string where = fmt::format("{}, {}, index {}, specs {}, IMEX {}, extras {}",
                                            of.name, Join(setting.strategies, "+"), setting.index,
                                            setting.specs, setting.imex, Join(names, "+"));
      ASSERT_TRUE(grant) << where << ": " << grant.error().message;
      const Grant expected = Expected(of, setting);
      EXPECT_EQ(grant->envs, expected.envs) << where;
      EXPECT_EQ(grant->mounts, expected.mounts) << where;
      EXPECT_EQ(grant->devices, expected.devices) << where;
      EXPECT_EQ(grant->annotations, expected.annotations) << where;
      EXPECT_EQ(grant->cdi_devices, expected.cdi_devices) << where;
    }
  }
}

TEST(Strategies, AChannelThatTheDevicesDoNotHaveIsNotNamed) {
  Setting setting{.strategies = {"envvar", "volume-mounts", "cdi-cri"}, .specs = true};

  const auto grant =
      Allocate(OfferOfCase(Cases()[1], setting), RenderingOf(setting), Cases()[1].asked);

  EXPECT_EQ(*grant, Expected(Cases()[1], setting));
  EXPECT_FALSE(grant->envs.contains("NVIDIA_IMEX_CHANNELS"));
}

TEST(Strategies, ADocumentOfOursHasTheDevicesByTheirIds) {
  Setting setting{.strategies = {"cdi-cri"}, .index = true};
  Rendering rendering = RenderingOf(setting);
  rendering.cdi_write = true;

  EXPECT_EQ(Allocate(OfferOfCase(Cases()[1], setting), rendering, Cases()[1].asked)->cdi_devices,
            Texts{fmt::format("{}/gpu=GPU-{}", kVendor, kB)});
}

}  // namespace
}  // namespace tessera
