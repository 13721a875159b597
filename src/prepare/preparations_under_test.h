// SPDX-License-Identifier: Apache-2.0
// Preparations with the fixture kind and a checkpoint that the test writes. Header-only, for tests.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/schema/config.h"
#include "fraction/grant_binder_under_test.h"
#include "prepare/preparations.h"
#include "prepare/preparing_kind_test.h"

namespace tessera {

inline const std::string kUnprepared = std::string("unprepare 0 /run/fixture/") + kOne;

class PreparationsTest : public testing::Test {
 protected:
  PreparationsTest() {
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/kubelet", 0755));
    rendering_.strategies = {Strategy::kCdiCri};
    rendering_.cdi_kind = "fixture.com/card";
    Save();
    Begin();
  }
  ~PreparationsTest() override {
    End();
    (void)os::RemoveTree(directory_);
  }

  // Begin starts an agent with the journal that earlier ones left; End ends it.
  void Begin() {
    preparations_ = std::make_shared<Preparations>(
        directory_ + "/state", os::Root(directory_),
        [this] {
          const std::lock_guard lock(mutex_);
          changed_.notify_all();
        },
        clock_);
    preparations_->Open(directory_ + "/kubelet");
    Serve(backend_);
  }
  void Serve(const std::shared_ptr<Backend>& backend, const std::string& resource = kCard,
             const Kind& kind = PreparingKind()) {
    config::Resource configured;
    configured.name = resource;
    preparations_->Serve(configured, kind, backend, directory_ + "/cdi");
  }
  void End() {
    Settle();
    preparations_.reset();
  }
  // Waits until its threads have released it.
  void Settle() const {
    while (preparations_.use_count() > 1) std::this_thread::yield();
  }
  void Restart() {
    End();
    Begin();
  }
  void Hold(const std::string& pod, const std::string& container, std::vector<std::string> ids,
            const std::string& grant, const std::string& resource = kCard) {
    checkpoint_.entries.push_back(
        {.pod_uid = pod,
         .container = container,
         .resource = resource,
         .ids_by_numa = {{"-1", std::move(ids)}},
         .allocate_response = Field(4, Field(1, kPreparedAnnotation) + Field(2, grant))});
    Save();
  }
  void Forget() {
    checkpoint_.entries.clear();
    Save();
  }
  void Save() {
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint",
                                kubelet::WriteCheckpoint(checkpoint_)));
  }
  std::future<Status> BeginStart(
      std::vector<std::string> ids, std::function<bool()> wanted = [] { return true; }) {
    const auto done = std::make_shared<std::promise<Status>>();
    preparations_->Begin({.binding = {.offer = offer_,
                                      .rendering = rendering_,
                                      .cdi_dir = directory_ + "/cdi",
                                      .described = nullptr},
                          .backend = backend_,
                          .share_ids = std::move(ids),
                          .parts = parts_,
                          .waited = waited_,
                          .wanted = std::move(wanted),
                          .done = [done](Status status) { done->set_value(std::move(status)); }});
    return done->get_future();
  }
  static std::string Text(const Status& status) {
    return status
               ? ""
               : fmt::format("{}: {}", ReasonName(status.error().reason), status.error().message);
  }
  // The refusal's text; empty: the container may be made.
  std::string Start(std::vector<std::string> ids) { return Text(BeginStart(std::move(ids)).get()); }
  // Waits until the threads' work makes the condition true.
  void Await(const std::function<bool()>& is) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, is);
  }
  void AwaitNothingLeft() {
    Await([this] { return !preparations_->AnyLeft(); });
  }
  void ForgetForGood() {
    Forget();
    preparations_->RemoveForgotten();
    clock_.Advance(Preparations::kForgotten);
    preparations_->RemoveForgotten();
  }
  std::string EntryPath(const std::string& grant) const {
    return directory_ + "/state/prepared/" + grant + ".json";
  }
  std::string StepOf(const std::string& grant) const {
    const auto text = os::ReadFile(EntryPath(grant));
    if (!text) return "no entry";
    const Preparation read = ReadPreparation(*text).value();
    return read.step == PrepareStep::kPreparing  ? "preparing"
           : read.step == PrepareStep::kPrepared ? "prepared"
                                                 : "unpreparing";
  }
  // The CDI document of the grant.
  std::string DocumentOf(const std::string& grant) const {
    const auto text = os::ReadFile(directory_ + "/cdi/" + GrantFileName(grant));
    if (!text) return "no document";
    const cdi::Document document = cdi::Read(*text).value();
    const cdi::Device& device = document.devices.at(0);
    std::string all = document.kind + "=" + device.name + ":";
    for (const std::string& env : device.edits.env) all += " " + env;
    for (const cdi::Node& node : device.edits.nodes) all += " " + node.path;
    return all;
  }
  std::string Outstanding() const {
    std::string all;
    for (const auto& [key, why] : preparations_->standing().outstanding) {
      all += fmt::format("{}: {}: {}\n", key.Text(), ReasonName(why.reason), why.message);
    }
    return all;
  }
  std::string Obstacles() const {
    std::string all;
    for (const auto& [resource, why] : preparations_->standing().obstacles) {
      all += fmt::format("{}: {}: {}\n", resource, ReasonName(why.reason), why.message);
    }
    return all;
  }
  std::string Held() const {
    std::string all;
    for (const DeviceKey& key : preparations_->standing().held) all += key.Text() + " ";
    return all;
  }
  std::string Faults() const {
    std::string all;
    for (const Error& fault : preparations_->standing().faults) all += fault.message + "\n";
    return all;
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "prepare");
  FakeClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Offer offer_ = TwoCards();
  Rendering rendering_;
  std::vector<Fraction> parts_;  // of the containers that start
  Duration waited_{};            // since kubelet's call
  kubelet::Checkpoint checkpoint_;
  std::shared_ptr<PreparingBackend> backend_ = std::make_shared<PreparingBackend>();
  std::shared_ptr<Preparations> preparations_;
};

}  // namespace tessera
