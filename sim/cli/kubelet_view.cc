// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/kubelet_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command/fields.h"

namespace tessera::cli {
namespace {

// A line below the tables: pods need not hold a device to run.
std::string PodsText(const json::Object& status) {
  auto pods = ListIn(status, "pods");
  return pods.empty() ? "" : fmt::format("\n{}: {}\n", Count(pods.size(), "pod"), Join(pods, ", "));
}

}  // namespace

std::string KubeletStatusText(const json::Object& status, const View& view) {
  if (!IsTrue(status, "running")) return "kubelet is down\n";
  std::vector<std::vector<Cell>> resources;
  std::vector<std::vector<Cell>> devices;
  for (const json::Object* resource : ObjectsIn(status, "resources")) {
    bool connected = IsTrue(*resource, "connected");
    resources.push_back({{TextIn(*resource, "name")},
                         {TextIn(*resource, "capacity")},
                         {TextIn(*resource, "allocatable")},
                         {connected ? "connected" : "gone", connected ? Tone::kGood : Tone::kBad}});
    for (const json::Object* device : ObjectsIn(*resource, "devices")) {
      bool healthy = IsTrue(*device, "healthy");
      std::string pod = TextIn(*device, "pod");
      if (healthy && pod.empty()) continue;
      devices.push_back({{TextIn(*resource, "name")},
                         {TextIn(*device, "id")},
                         {healthy ? "healthy" : "unhealthy", healthy ? Tone::kGood : Tone::kBad},
                         {Join(ListIn(*device, "numa"), ",")},
                         {pod},
                         {TextIn(*device, "container")}});
    }
  }
  if (resources.empty()) return "no plugin has registered\n" + PodsText(status);
  std::string text =
      Table({{"RESOURCE"}, {"CAPACITY", true}, {"ALLOCATABLE", true}, {"PLUGIN"}}, resources, view);
  if (!devices.empty()) {
    text += "\n" + Table({{"RESOURCE"}, {"DEVICE"}, {"HEALTH"}, {"NUMA"}, {"POD"}, {"CONTAINER"}},
                         devices, view);
  }
  return text + PodsText(status);
}

std::string AdmissionText(const json::Object& admission) {
  if (!IsTrue(admission, "admitted")) {
    return fmt::format("refused: {}: {}\n", TextIn(admission, "reason"),
                       TextIn(admission, "message"));
  }
  std::string text = "admitted\n";
  for (const json::Object* grant : ObjectsIn(admission, "grants")) {
    text += fmt::format("  {}: {} {}\n", TextIn(*grant, "container"), TextIn(*grant, "resource"),
                        Join(ListIn(*grant, "ids"), ","));
    const json::Object* envs = json::GetObject(*grant, "envs");
    if (envs == nullptr) continue;
    for (const auto& env : *envs) {
      text += fmt::format("    {}={}\n", std::string(env.key()), TextIn(*envs, env.key()));
    }
  }
  for (const json::Object* failure : ObjectsIn(admission, "start_failures")) {
    text += fmt::format("  {} did not start: {}\n", TextIn(*failure, "container"),
                        TextIn(*failure, "message"));
  }
  return text;
}

}  // namespace tessera::cli
