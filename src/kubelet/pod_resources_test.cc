// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "os/files.h"
#include "os/unix_socket.h"

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
  Error Refusal() {
    auto answer = answer_.get_future();
    if (answer.wait_for(std::chrono::seconds(20)) != std::future_status::ready) return {};
    const auto view = answer.get();
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

}  // namespace
}  // namespace tessera::kubelet
