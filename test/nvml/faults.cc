// SPDX-License-Identifier: Apache-2.0
#include "nvml/faults.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string_view>

#include "nvml/keys.h"

namespace tessera::nvml {
namespace {

constexpr char kAll[] = "all";

std::string FunctionIn(const YAML::Node& yaml) {
  static constexpr std::string_view kKnown[] = {
      kAll,
#define NVML_FUNCTION(name, symbol, ...) #symbol,
#include "backend/nvidia/nvml_functions.def"
#undef NVML_FUNCTION
  };
  auto function = yaml.as<std::string>();
  if (std::ranges::count(kKnown, function) == 0) {
    Refuse(yaml, fmt::format("{} is no function of NVML that the agent calls", function));
  }
  return function;
}

CallFaults ReadCalls(const YAML::Node& yaml) {
  CallFaults calls;
  for (const auto& item : yaml["fail"]) {
    calls.fail[FunctionIn(item.first)] = Return{item.second.as<int>()};
  }
  if (yaml["lost"].as<bool>(false)) calls.fail[kAll] = Return::kGpuIsLost;
  if (yaml["reset-required"].as<bool>(false)) calls.fail[kAll] = Return::kResetRequired;
  const YAML::Node hang = yaml["hang"];
  if (hang && hang.IsScalar()) calls.hang.insert(FunctionIn(hang));
  if (hang && hang.IsSequence()) {
    for (const YAML::Node& function : hang) calls.hang.insert(FunctionIn(function));
  }
  calls.slow_ms = yaml["slow"].as<int>(0);
  return calls;
}

GpuFaults ReadGpu(const YAML::Node& yaml) {
  CheckKeys(yaml, "a GPU with faults",
            {"fail", "hang", "slow", "lost", "reset-required", "ecc", "remap", "retired", "clocks",
             "links-down"});
  GpuFaults gpu;
  gpu.calls = ReadCalls(yaml);
  gpu.ecc_uncorrected = yaml["ecc"].as<uint64_t>(0);
  if (const YAML::Node remap = yaml["remap"]) {
    CheckKeys(remap, "\"remap\"", {"pending", "failed"});
    gpu.remap_pending = remap["pending"].as<unsigned>(0);
    gpu.remap_failed = remap["failed"].as<unsigned>(0);
  }
  gpu.retired_pending = yaml["retired"].as<bool>(false);
  gpu.clock_reasons = yaml["clocks"].as<uint64_t>(0);
  for (const YAML::Node& link : yaml["links-down"]) gpu.links_down.insert(link.as<unsigned>());
  return gpu;
}

}  // namespace

Return CallFaults::FailureOf(const std::string& function) const {
  for (const std::string& name : {function, std::string(kAll)}) {
    if (const auto it = fail.find(name); it != fail.end()) return it->second;
  }
  return Return::kSuccess;
}

bool CallFaults::Hangs(const std::string& function) const {
  return hang.contains(function) || hang.contains(kAll);
}

const GpuFaults& Faults::Of(unsigned gpu) const {
  static const GpuFaults kNone;
  const auto it = gpus.find(gpu);
  return it == gpus.end() ? kNone : it->second;
}

Faults ParseFaults(const std::string& text) {
  const YAML::Node yaml = YAML::Load(text);
  Faults faults;
  if (!yaml.IsMap()) return faults;
  CheckKeys(yaml, "a node with faults", {"driver", "gpus", "events"});
  CheckKeys(yaml["driver"], "a driver with faults",
            {"fail", "hang", "slow", "lost", "reset-required"});
  if (yaml["driver"]) faults.driver = ReadCalls(yaml["driver"]);
  for (const auto& item : yaml["gpus"]) {
    faults.gpus[item.first.as<unsigned>()] = ReadGpu(item.second);
  }
  for (const YAML::Node& item : yaml["events"]) {
    CheckKeys(item, "an event", {"gpu", "type", "xid", "gi", "ci"});
    faults.events.push_back({.gpu = item["gpu"].as<unsigned>(),
                             .type = item["type"].as<uint64_t>(kXidCriticalError),
                             .xid = item["xid"].as<uint64_t>(0),
                             .gpu_instance = item["gi"].as<unsigned>(kNoInstance),
                             .compute_instance = item["ci"].as<unsigned>(kNoInstance)});
  }
  return faults;
}

FileState StateOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

std::shared_ptr<const Faults> FaultFile::Now() {
  const FileState now = StateOf(path_);
  {
    std::shared_lock lock(mutex_);
    if (now == read_) return faults_;
  }
  std::lock_guard lock(mutex_);
  if (now == read_) return faults_;
  read_ = now;
  std::stringstream text;
  text << std::ifstream(path_).rdbuf();
  try {
    faults_ = std::make_shared<Faults>(ParseFaults(text.str()));
  } catch (const std::exception& error) {
    fprintf(stderr, "fake NVML: %s: %s\n", path_.c_str(), error.what());
  }
  return faults_;
}

}  // namespace tessera::nvml
