// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/limiter.h"

#include <fmt/core.h>

#include <string_view>

#include "grant/fraction.h"
#include "hami/names.h"
#include "limiter/contract.h"

namespace tessera::nvidia {
namespace {

std::string LicenseOf(const FractionRules& vgpu) {
  return vgpu.directory + "/license";
}

// The program that checks the license.
std::string ValidatorOf(const FractionRules& vgpu) {
  return vgpu.directory + "/vgpuvalidator";
}

std::string TunableOf(const FractionRules& vgpu, std::string_view key, const char* otherwise = "") {
  const auto found = vgpu.tunables.find(std::string(key));
  return found == vgpu.tunables.end() ? otherwise : found->second;
}

class LibraryLimiter final : public Enforcer {
 public:
  std::map<std::string, std::string> Envs(const FractionRules& vgpu,
                                          const FractionGrant& grant) const override {
    std::map<std::string, std::string> envs;
    // For libraries with one limit for all of the container's GPUs: the least one, so that none
    // exceeds its grant.
    int cores = 0;
    for (size_t i = 0; i < grant.parts.size(); ++i) {
      const Fraction& part = grant.parts[i];
      envs[fmt::format("{}{}", hami::kEnvMemoryLimit, i)] = fmt::format("{}m", part.memory);
      const bool least = cores == 0 || part.cores < cores;
      if (part.cores > 0 && least) cores = part.cores;
      // Set even if 0, or the pod's own variable would override the common limit.
      envs[fmt::format("{}_{}", hami::kEnvSmLimit, i)] = std::to_string(part.cores);
    }
    envs[std::string(hami::kEnvSmLimit)] = std::to_string(cores);
    envs[std::string(hami::kEnvSharedCache)] =
        fmt::format("{}/{}", vgpu.directory, RegionNameOf(grant.name));
    if (vgpu.memory_scaling > 1) envs[std::string(hami::kEnvOversubscribe)] = "true";
    return envs;
  }

  std::vector<Mount> Mounts(const FractionRules& vgpu, const FractionGrant& grant) const override {
    std::vector<Mount> mounts = {
        {.host_path = grant.directory, .container_path = vgpu.directory, .read_only = false}};
    const FractionFiles files = FilesOf(vgpu);
    const bool is_former = !grant.library.empty() && grant.library != vgpu.library;
    if (is_former ? grant.locked : !vgpu.own_library) {
      mounts.push_back({.host_path = LocksOf(vgpu, grant.name),
                        .container_path = std::string(hami::kLockDirectory),
                        .read_only = false});
    }
    if (grant.licensed) {
      mounts.push_back(
          {.host_path = LicenseOf(vgpu), .container_path = std::string(hami::kLicenseFile)});
      mounts.push_back(
          {.host_path = ValidatorOf(vgpu), .container_path = std::string(hami::kValidator)});
    }
    if (!vgpu.enforced) return mounts;
    mounts.push_back({.host_path = is_former ? grant.library : vgpu.library,
                      .container_path = vgpu.directory + "/libvgpu.so"});
    const std::string_view limits = limiter::kLimitsPath;
    mounts.push_back({.host_path = LimitsOf(vgpu, grant.name),
                      .container_path = std::string(limits.substr(0, limits.rfind('/')))});
    // Mounted at their own paths too, which hides the pod's files there.
    mounts.push_back(
        {.host_path = LimitsFileOf(vgpu, grant.name), .container_path = limiter::kLimitsPath});
    if (grant.has_no_limits) {
      mounts.push_back({.host_path = NoLimitsFileOf(vgpu, grant.name),
                        .container_path = limiter::kNoLimitsPath});
    }
    if (!grant.controlled) return mounts;
    mounts.push_back(
        {.host_path = files.preload, .container_path = std::string(hami::kPreloadFile)});
    return mounts;
  }

  std::string LimitsText(const FractionRules& vgpu, const FractionGrant& grant) const override {
    std::string text = fmt::format("{} {}\n", limiter::kLimitsName, limiter::kLimitsVersion);
    for (const Fraction& part : grant.parts) {
      text +=
          fmt::format("device {} memory={} cores={}\n", part.device, part.memory << 20, part.cores);
    }
    text += fmt::format("policy={}\n", TunableOf(vgpu, hami::kEnvCorePolicy, "default"));
    text += fmt::format("priority={}\n", TunableOf(vgpu, hami::kEnvTaskPriority, "1"));
    text += fmt::format("oversubscribe={}\n", vgpu.memory_scaling > 1 ? "yes" : "no");
    if (vgpu.memory_by_driver) text += "memory-by=driver\n";
    text += fmt::format("core-policy={}\n", vgpu.tunables_fixed ? "fixed" : "free");
    text += fmt::format("region={}/{}\n", vgpu.directory, RegionNameOf(grant.name));
    return text;
  }

  std::string PreloadText(const FractionRules& vgpu) const override {
    return vgpu.directory + "/libvgpu.so\n";
  }

  std::vector<std::string> LicenseFiles(const FractionRules& vgpu) const override {
    return {LicenseOf(vgpu), ValidatorOf(vgpu)};
  }

  bool OwnsRegion(const FractionRules& vgpu) const override { return vgpu.own_library; }

  void FillRegion(const FractionRules& vgpu, const std::vector<Fraction>& parts,
                  limiter::Region& region) const override {
    std::vector<limiter::RegionDevice> devices;
    for (const Fraction& part : parts) {
      devices.push_back({.uuid = part.device.c_str(),
                         .bytes = static_cast<uint64_t>(part.memory) << 20,
                         .cores = static_cast<uint64_t>(part.cores)});
    }
    const std::string policy = TunableOf(vgpu, hami::kEnvCorePolicy);
    const bool high = TunableOf(vgpu, hami::kEnvTaskPriority) == "0";
    limiter::MakeRegion({.devices = devices.data(),
                         .count = static_cast<int>(devices.size()),
                         .core_policy = policy == "force"     ? limiter::CorePolicy::kForce
                                        : policy == "disable" ? limiter::CorePolicy::kDisable
                                                              : limiter::CorePolicy::kDefault,
                         .priority = high ? 0 : limiter::kDefaultPriority,
                         .oversubscribe = vgpu.memory_scaling > 1},
                        &region);
  }
};

constexpr LibraryLimiter kLimiter;

}  // namespace

const Enforcer& Limiter() {
  return kLimiter;
}

}  // namespace tessera::nvidia
