// SPDX-License-Identifier: Apache-2.0
// A binder with two GPUs, a kubelet's checkpoint and a configuration, all the test's own.
// Header-only, for tests.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/nvidia/fraction/limiter.h"
#include "base/clock.h"
#include "fraction/grant_binder.h"

namespace tessera {

inline constexpr char kGpu[] = "nvidia.com/gpu";
inline constexpr char kOne[] = "00000000000000000000000000000001";
inline constexpr char kOther[] = "00000000000000000000000000000002";
inline constexpr char kLibrary[] = "/usr/local/vgpu/libvgpu.so";

inline std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
// As kubelet keeps it: a ContainerAllocateResponse with one annotation, field 4.
inline std::string AnswerNaming(const std::string& grant) {
  return Field(4, Field(1, kGrantAnnotation) + Field(2, grant));
}

// Two GPUs of 1000 MiB.
inline Offer TwoGpus(int parts) {
  Inventory inventory;
  for (const char* id :
       {"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43"}) {
    Device device;
    device.key = {kGpu, id};
    device.visible_as = id;
    device.memory = 1000;
    inventory.devices.push_back(device);
  }
  return Divide(kGpu, {{Division::kVgpu, parts, Separator::kDash}}, inventory, kGpu,
                [](const Device&) { return std::optional<Error>(); });
}

class GrantBinderTest : public testing::Test {
 protected:
  GrantBinderTest() {
    for (const char* path : {"/kubelet", "/usr/local/vgpu"}) {
      EXPECT_TRUE(os::MakeDirectories(directory_ + path, 0755));
    }
    EXPECT_TRUE(os::ReplaceFile(directory_ + kLibrary, "a library", 0644));
    SetParts(2);
  }
  ~GrantBinderTest() override { (void)os::RemoveTree(directory_); }

  void SetParts(int parts) {
    offer_ = TwoGpus(parts);
    rendering_.strategies = {Strategy::kCdiCri};
    rendering_.cdi_kind = "ab.com/gpu";
    rendering_.fractions = FractionRules{.enforcer = &nvidia::Limiter(),
                                         .directory = "/usr/local/vgpu",
                                         .library = kLibrary,
                                         .parts = parts};
  }
  std::string Share(size_t gpu, int number) const {
    return fmt::format("{}-{}", offer_.devices[gpu].key.id, number);
  }
  void Hold(const std::string& pod, const std::string& container, std::vector<std::string> ids,
            const std::string& answer) {
    checkpoint_.entries.push_back({.pod_uid = pod,
                                   .container = container,
                                   .resource = kGpu,
                                   .ids_by_numa = {{"-1", std::move(ids)}},
                                   .allocate_response = answer});
    Save();
  }
  void Save() {
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint",
                                kubelet::WriteCheckpoint(checkpoint_)));
  }
  Binding Now() const {
    return {.offer = offer_,
            .rendering = rendering_,
            .cdi_dir = directory_ + "/cdi",
            .described = described_ ? &*described_ : nullptr};
  }
  Status BindBy(GrantBinder& binder, const std::vector<std::string>& ids) const {
    const auto done = std::make_shared<std::promise<Status>>();
    binder.Bind(Now(), ids, pods_, [done](Status bound) { done->set_value(std::move(bound)); });
    return done->get_future().get();
  }
  // The error's text; empty: bound.
  std::string Bind(const std::vector<std::string>& ids) const {
    const Status bound = BindBy(*binder_, ids);
    return bound ? ""
                 : fmt::format("{}: {}", ReasonName(bound.error().reason), bound.error().message);
  }
  // The limits in the grant's document, without the cache's.
  std::string LimitsOf(const std::string& name) const {
    const auto text = os::ReadFile(directory_ + "/cdi/" + GrantFileName(name));
    if (!text) return "no document";
    std::string limits;
    const cdi::Document document = cdi::Read(*text).value();
    for (const std::string& env : document.devices.at(0).edits.env) {
      const bool each = env.starts_with("CUDA_DEVICE_SM_LIMIT_");  // one for each GPU, all alike
      if (!each && env.find("LIMIT") != std::string::npos) limits += env + " ";
    }
    return limits;
  }
  void RemoveForgotten() { binder_->RemoveForgotten({directory_ + "/cdi"}); }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "binder");
  Offer offer_;
  Rendering rendering_;
  std::optional<cdi::Parts> described_{std::in_place};
  kubelet::Checkpoint checkpoint_;
  FakeClock clock_;
  std::shared_ptr<BindContext> context_ = std::make_shared<BindContext>();
  GrantBinder::Pods pods_;
  std::shared_ptr<GrantInbox> inbox_ = std::make_shared<GrantInbox>();
  std::shared_ptr<GrantBinder> NewBinder() const {
    return std::make_shared<GrantBinder>(directory_ + "/kubelet", directory_ + "/state",
                                         os::Root(directory_), context_, inbox_, clock_,
                                         [] { return "kubelet is v1.99.0, the agent 0.1.0"; });
  }
  const std::shared_ptr<GrantBinder> binder_ = NewBinder();
};

}  // namespace tessera
