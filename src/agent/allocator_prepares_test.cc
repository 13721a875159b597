// SPDX-License-Identifier: Apache-2.0
// A resource whose devices are prepared: Allocate promises a name, and PreStart prepares the grant.
#include "agent/allocator.h"
#include "base/captured_log_test.h"
#include "kubelet/answered_test.h"
#include "prepare/preparations_under_test.h"

namespace tessera::agent {
namespace {

class AllocatorPreparesTest : public PreparationsTest {
 protected:
  AllocatorPreparesTest() {
    rendering_.strategies = {Strategy::kEnvvar, Strategy::kDeviceSpecs, Strategy::kCdiCri};
    rendering_.env = "CARDS";
    allocator_->Set({.offer = std::make_shared<Offer>(offer_),
                     .rendering = rendering_,
                     .backend = backend_,
                     .cdi_dir = directory_ + "/cdi",
                     .preparations = preparations_});
  }
  ~AllocatorPreparesTest() override { allocator_->Set({}); }

  Status PreStart(const std::vector<std::string>& ids) {
    const auto answer = std::make_shared<std::promise<Status>>();
    allocator_->PreStart(
        ids, [] { return true; },
        [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future().get();
  }

  http::Metrics metrics_;
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      kCard, std::make_shared<os::Workers>(1), nullptr, std::make_shared<BindContext>(), metrics_,
      [](const Offer&, const std::vector<std::string>&) { return Status(); });
};

TEST_F(AllocatorPreparesTest, AllocatePromisesANameAndPreparesNothing) {
  const auto grant = kubelet::Answered(*allocator_, {"0"});

  ASSERT_TRUE(grant);
  const std::string name = grant->annotations.at(kPreparedAnnotation);
  EXPECT_TRUE(IsGrantName(name)) << name;
  EXPECT_EQ(*grant, (Grant{.envs = {{"CARDS", "void"}},
                           .mounts = {},
                           .devices = {},
                           .annotations = {{kPreparedAnnotation, name}},
                           .cdi_devices = {"fixture.com/grant=" + name}}));
  EXPECT_NE(kubelet::Answered(*allocator_, {"0"})->annotations.at(kPreparedAnnotation), name);
  EXPECT_EQ(backend_->Calls(), "");
}

TEST_F(AllocatorPreparesTest, TheContainerIsMadeOnceItIsPrepared) {
  Hold("uid-1", "app", {"0"}, kOne);

  EXPECT_TRUE(PreStart({"0"}));

  EXPECT_EQ(backend_->Calls(), "prepare 0");
  EXPECT_EQ(DocumentOf(kOne), std::string("fixture.com/grant=") + kOne +
                                  ": CARDS_0=0 SLOT=/dev/slot0 /dev/card0 /dev/slot0");
}

// Resets its devices before a start, which takes some time.
class ResettingBackend : public PreparingBackend {
 public:
  bool ResetsBeforeStart() const override { return true; }
  Status Reset(const Device&) override {
    const Steady begun = SystemClock().Now();
    while (SystemClock().Now() == begun) std::this_thread::yield();
    return {};
  }
};

TEST_F(AllocatorPreparesTest, AResetTakesOfTheTimeToPrepare) {
  const auto backend = std::make_shared<ResettingBackend>();
  Serve(backend);
  allocator_->Set({.offer = std::make_shared<Offer>(offer_),
                   .rendering = rendering_,
                   .backend = backend,
                   .cdi_dir = directory_ + "/cdi",
                   .preparations = preparations_});
  Hold("uid-1", "app", {"0"}, kOne);
  backend->during_prepare = [this](const PrepareRequest& request) {
    EXPECT_LT(request.deadline, clock_.Now() + Preparations::kDeadline);
  };

  EXPECT_TRUE(PreStart({"0"}));

  EXPECT_EQ(backend->Calls(), "prepare 0");
}

TEST_F(AllocatorPreparesTest, WhatFailsIsTheAnswerAndIsCountedAndTold) {
  Hold("uid-1", "app", {"0"}, kOne);
  backend_->yields = Fail(Reason::kIo, "the slot is stuck");
  CapturedLog told;

  EXPECT_EQ(PreStart({"0"}).error(),
            (Error{Reason::kNotPrepared,
                   "fixture.com/card: device 0 could not be made ready: the slot is stuck"}));

  EXPECT_NE(metrics_.Expose().find("code=\"not-prepared\"} 1"), std::string::npos);
  EXPECT_NE(told.text().find("WARN a container is not started resource=fixture.com/card ids=0"),
            std::string::npos)
      << told.text();
}

TEST_F(AllocatorPreparesTest, BeforeDriversFilesAreKnownNoContainerIsMade) {
  Hold("uid-1", "app", {"0"}, kOne);
  allocator_->Set({.offer = std::make_shared<Offer>(offer_),
                   .rendering = rendering_,
                   .backend = backend_,
                   .cdi_dir = directory_ + "/cdi",
                   .preparations = preparations_,
                   .undescribed = true});

  EXPECT_EQ(PreStart({"0"}).error().reason, Reason::kNotChecked);

  EXPECT_EQ(backend_->Calls(), "");
}

}  // namespace
}  // namespace tessera::agent
