// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leadership.h"

#include "base/captured_log_test.h"
#include "kube/fake_cluster_test.h"

namespace tessera::scheduler {
namespace {

class LeadershipTest : public kube::ClusterTest {
 protected:
  LeadershipTest() {
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.target.find("watch=") == std::string::npos) {
        return peer.Send(
            fake::Answer(200, R"({"metadata":{"resourceVersion":"1"},"items":[)" + first_ + "]}"));
      }
      stream_ = &peer;
      peer.Send(fake::ChunkedHead());
    };
  }
  static std::string LeaseText(const std::string& holder, int version = 1) {
    return fmt::format(R"({{"metadata":{{"name":"hami-scheduler","resourceVersion":"{}"}},)"
                       R"("spec":{{"holderIdentity":"{}","leaseDurationSeconds":15}}}})",
                       version, holder);
  }
  void Start(const std::string& name = "hami-scheduler") {
    leadership_ = std::make_unique<Leadership>(
        loop_, clock_, client(), LeaseName{"kube-system", name, "pod-a"}, [this] { ++took_over_; });
  }
  std::string Leads() const {
    const Status leads = leadership_->Leads();
    return leads ? "leads" : leads.error().message;
  }
  bool Becomes(const std::string& state) {
    return RunUntil([&] { return Leads() == state; });
  }
  void Change(const std::string& holder, int version) {
    ASSERT_TRUE(RunUntil([&] { return stream_ != nullptr; }));
    stream_->Send(
        fake::Chunk(R"({"type":"MODIFIED","object":)" + LeaseText(holder, version) + "}\n"));
  }

  std::string first_ = LeaseText("pod-b_1");
  fake::Peer* stream_ = nullptr;
  int took_over_ = 0;
  FakeClock clock_;
  CapturedLog log_;
  std::unique_ptr<Leadership> leadership_;
};

TEST_F(LeadershipTest, IsTheHoldersOfTheLeaseFromWhenItHasIt) {
  Start();
  EXPECT_EQ(Leads(), "the Lease kube-system/hami-scheduler is still being read");
  EXPECT_TRUE(
      Becomes("the kube-scheduler of this pod does not lead: the Lease "
              "kube-system/hami-scheduler is held by pod-b_1"));
  EXPECT_EQ(took_over_, 0);

  Change("pod-a_2", 2);
  EXPECT_TRUE(Becomes("leads"));
  EXPECT_EQ(took_over_, 1);

  Change("pod-a_2", 3);  // renewed
  Change("pod-b_1", 4);
  EXPECT_TRUE(
      Becomes("the kube-scheduler of this pod does not lead: the Lease "
              "kube-system/hami-scheduler is held by pod-b_1"));
  EXPECT_EQ(took_over_, 1);
}

TEST_F(LeadershipTest, EndsWhereTheLeaseIsNotSeenToBeRenewedInTime) {
  first_ = LeaseText("pod-a_1");
  Start();
  ASSERT_TRUE(Becomes("leads"));
  clock_.Advance(std::chrono::seconds(15));
  EXPECT_EQ(Leads(), "leads");

  clock_.Advance(Duration(1));
  EXPECT_EQ(Leads(),
            "the kube-scheduler of this pod did not renew the Lease kube-system/hami-scheduler in "
            "time, as last seen at the API server");

  Change("pod-a_1", 2);
  EXPECT_TRUE(Becomes("leads"));
  EXPECT_EQ(took_over_, 1);
}

TEST_F(LeadershipTest, ALeaseThatIsNotThereYetIsHeldByNobody) {
  first_ = "";
  Start();
  EXPECT_TRUE(
      Becomes("the kube-scheduler of this pod does not lead: the Lease "
              "kube-system/hami-scheduler is held by no replica"));
}

TEST_F(LeadershipTest, WithoutALeaseTheOneKubeSchedulerAlwaysLeads) {
  Start("");
  EXPECT_EQ(Leads(), "leads");
  EXPECT_EQ(took_over_, 0);
}

}  // namespace
}  // namespace tessera::scheduler
