// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "os/files.h"
#include "os/unix_socket.h"
#include "podresources/server.h"

namespace tessera::kubelet {
namespace {

class PodResourcesTest : public testing::Test {
 protected:
  ~PodResourcesTest() override { (void)os::RemoveTree(dir_); }

  std::unique_ptr<PodResourcesCall> Ask(Duration timeout) {
    return PodResourcesCall::Ask(workers_, path_, timeout, [this](Result<PodResourcesView> view) {
      answer_.set_value(std::move(view));
    });
  }
  Result<PodResourcesView> Answer() {
    auto answer = answer_.get_future();
    if (answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return answer.get();
    return Fail(Reason::kInvalid, "no answer came");
  }
  Error Refusal() {
    const auto view = Answer();
    return view ? Error{} : view.error();
  }

  os::Workers workers_{1};
  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "pod-resources");
  std::string path_ = dir_ + "/kubelet.sock";
  std::promise<Result<PodResourcesView>> answer_;
};

TEST_F(PodResourcesTest, WithNobodyThereTheErrorSaysWhereItAsked) {
  const auto call = Ask(Duration(5'000));

  const Error error = Refusal();

  EXPECT_EQ(error.reason, Reason::kPodResourcesUnavailable);
  EXPECT_TRUE(error.message.starts_with("asking " + path_)) << error.message;
}

TEST_F(PodResourcesTest, ACallToOneWhoNeverAnswersEndsWhenItIsLetGo) {
  const auto silent = os::ListenUnix(path_);
  ASSERT_TRUE(silent);
  auto call = Ask(Duration(600'000));
  pollfd called{.fd = silent->get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&called, 1, 20'000), 1);

  call.reset();

  EXPECT_EQ(Refusal().reason, Reason::kPodResourcesUnavailable);
}

TEST_F(PodResourcesTest, AContainersIdsOfOneResourceAreOneHoldingInNaturalOrder) {
  fake::PodResources kubelet(path_);
  kubelet.Set({.holdings = {{"default", "a", "", "main", "dummy.com/npu", {"10", "2"}},
                            {"other", "a", "", "main", "dummy.com/npu", {"3"}}},
               .allocatable = {{{"dummy.com/npu", {"2", "3", "3", "10"}}}}});

  const auto call = Ask(Duration(5'000));
  const auto view = Answer();

  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->holdings,
            (std::vector<Holding>{{"default", "a", "", "main", "dummy.com/npu", {"2", "10"}},
                                  {"other", "a", "", "main", "dummy.com/npu", {"3"}}}));
  EXPECT_EQ(view->allocatable, (std::map<std::string, int>{{"dummy.com/npu", 3}}));
}

TEST_F(PodResourcesTest, WhoWillNotSayWhatItCanHandOutTellsWhoHoldsWhat) {
  fake::PodResources kubelet(path_);
  kubelet.Set({.holdings = {{"default", "a", "", "main", "dummy.com/npu", {"1"}}},
               .allocatable = std::nullopt});

  const auto call = Ask(Duration(5'000));
  const auto view = Answer();

  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->holdings,
            (std::vector<Holding>{{"default", "a", "", "main", "dummy.com/npu", {"1"}}}));
  EXPECT_EQ(view->allocatable, std::nullopt);
}

}  // namespace
}  // namespace tessera::kubelet
