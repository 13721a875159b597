// SPDX-License-Identifier: Apache-2.0
// Fabricated observations, for tests.
#pragma once

#include <string>
#include <vector>

#include "sim/demo/observation.h"

namespace tessera::demo {

inline constexpr char kNpu[] = "dummy.com/npu";

inline Observation Saw(What what, std::vector<kubelet::ResourceStatus> resources = {},
                       int64_t at_ms = 0) {
  return {.at = Duration(at_ms),
          .what = std::move(what),
          .resources = std::move(resources),
          .scenario_line = ""};
}

inline KubeletTold Told(kubelet::KubeletEvent::Kind kind) {
  return {{kind, {}, kNpu, "told"}};
}
inline KubeletTold Listed() {
  return Told(kubelet::KubeletEvent::Kind::kList);
}

inline kubelet::DeviceStatus HealthyDevice(std::string id) {
  kubelet::DeviceStatus device;
  device.id = std::move(id);
  device.healthy = true;
  return device;
}

// A resource with devices "0" to "count-1", all healthy and free.
inline kubelet::ResourceStatus Npus(int count) {
  kubelet::ResourceStatus resource;
  resource.name = kNpu;
  resource.capacity = count;
  resource.allocatable = count;
  resource.connected = true;
  for (int i = 0; i < count; ++i) {
    resource.devices.push_back(HealthyDevice(std::to_string(i)));
  }
  return resource;
}

inline constexpr char kGpu[] = "nvidia.com/gpu";

// A resource with these shares, all healthy and free.
inline kubelet::ResourceStatus Gpus(const std::vector<std::string>& ids) {
  kubelet::ResourceStatus resource;
  resource.name = kGpu;
  resource.capacity = resource.allocatable = static_cast<int>(ids.size());
  resource.connected = true;
  for (const std::string& id : ids) resource.devices.push_back(HealthyDevice(id));
  return resource;
}

// A pod whose one container asked for these ids and got them, with a correct environment.
inline PodTried Admitted(const std::string& pod, std::vector<std::string> ids) {
  PodTried tried;
  tried.pod.name = pod;
  tried.pod.containers = {
      {kMainContainer, kubelet::ContainerSpec::Kind::kApp, {{kNpu, static_cast<int>(ids.size())}}}};
  tried.admission.admitted = true;
  kubelet::ContainerGrant grant{kMainContainer, kNpu, ids, {}};
  std::string env;
  for (const std::string& id : ids) env += (env.empty() ? "" : ",") + id;
  grant.response.envs["DUMMY_VISIBLE_DEVICES"] = env;
  tried.admission.grants = {grant};
  return tried;
}

inline Configured WithEnv() {
  return {.envs = {{kNpu, "DUMMY_VISIBLE_DEVICES"}}, .first = true, .broken = false};
}

// Two GPUs, divided by ten. The first one's id sorts after the other's.
inline std::string FirstGpu() {
  return "GPU-b2222222-0000-0000-0000-000000000000";
}
inline std::string SecondGpu() {
  return "GPU-a1111111-0000-0000-0000-000000000000";
}
inline std::string FirstGpu(int share) {
  return FirstGpu() + "-" + std::to_string(share);
}
inline std::string SecondGpu(int share) {
  return SecondGpu() + "-" + std::to_string(share);
}
inline HardwareMade TwoGpus() {
  return {.change = {},
          .devices = {{"0", FirstGpu(), "big", 81560}, {"1", SecondGpu(), "small", 40960}}};
}
inline Configured DividedByTen() {
  FractionRules ten;
  ten.parts = 10;
  return {.envs = {{kGpu, ""}}, .first = true, .broken = false, .vgpus = {{kGpu, {ten, "/cdi"}}}};
}
inline ContainerLimits LimitsOf(const std::string& pod, std::vector<std::string> ids,
                                std::map<std::string, std::string> variables) {
  return {.pod = pod,
          .container = kMainContainer,
          .resource = kGpu,
          .ids = std::move(ids),
          .variables = std::move(variables)};
}

}  // namespace tessera::demo
