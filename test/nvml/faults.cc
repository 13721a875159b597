// SPDX-License-Identifier: Apache-2.0
#include "nvml/faults.h"

#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>

namespace tessera::nvml {
namespace {

constexpr char kAll[] = "all";

CallFaults ReadCalls(const YAML::Node& yaml) {
  CallFaults calls;
  for (const auto& item : yaml["fail"]) {
    calls.fail[item.first.as<std::string>()] = Return{item.second.as<int>()};
  }
  if (yaml["lost"].as<bool>(false)) calls.fail[kAll] = Return::kGpuIsLost;
  if (yaml["reset-required"].as<bool>(false)) calls.fail[kAll] = Return::kResetRequired;
  const YAML::Node hang = yaml["hang"];
  if (hang && hang.IsScalar()) calls.hang.insert(hang.as<std::string>());
  if (hang && hang.IsSequence()) {
    for (const YAML::Node& function : hang) calls.hang.insert(function.as<std::string>());
  }
  calls.slow_ms = yaml["slow"].as<int>(0);
  return calls;
}

GpuFaults ReadGpu(const YAML::Node& yaml) {
  GpuFaults gpu;
  gpu.calls = ReadCalls(yaml);
  gpu.ecc_uncorrected = yaml["ecc"].as<uint64_t>(0);
  if (const YAML::Node remap = yaml["remap"]) {
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
  if (yaml["driver"]) faults.driver = ReadCalls(yaml["driver"]);
  for (const auto& item : yaml["gpus"]) {
    faults.gpus[item.first.as<unsigned>()] = ReadGpu(item.second);
  }
  for (const YAML::Node& item : yaml["events"]) {
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
