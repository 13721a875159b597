// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mig/geometry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::nvidia {
namespace {

class GeometryTest : public testing::Test {
 protected:
  void TearDown() override {
    watch_.Unsubscribe(this);
    EXPECT_TRUE(os::RemoveTree(directory_));
  }
  void Subscribe() {
    watch_.Subscribe(this, [this] { ++news_; });
  }
  // A backend reads all GPUs.
  void SeeAll(const void* owner) {
    const auto count = static_cast<unsigned>(node_.hardware().gpus.size());
    watch_.ReportCount(owner, count);
    for (unsigned i = 0; i < count; ++i) watch_.ReportGeometry(owner, i, Of(i));
  }
  Geometry Of(unsigned index) const {
    const nvml::HardwareGpu& gpu = node_.hardware().gpus[index];
    Geometry geometry{.uuid = gpu.uuid, .mig_enabled = gpu.mig_enabled};
    for (const nvml::MigInstance& mig : gpu.mig) geometry.mig_uuids.push_back(mig.uuid);
    return geometry;
  }
  void AwaitNews(int at_least) {
    while (news_ < at_least) std::this_thread::yield();
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/geometry_test").value();
  NvidiaNode node_{directory_, "8xh100-mig"};
  const std::shared_ptr<nvml::Session> session_ =
      std::make_shared<nvml::Session>(nvml::LibraryPaths(os::Root(directory_), "/"));
  GeometryWatch watch_{session_, Duration(10)};
  std::atomic<int> news_ = 0;
};

TEST_F(GeometryTest, WhatIsSeenFirstIsNoNews) {
  Subscribe();
  SeeAll(nullptr);
  SeeAll(nullptr);
  EXPECT_EQ(news_, 0);
}

TEST_F(GeometryTest, WhatOneSeesIsNewsToTheOthersOnly) {
  Subscribe();
  SeeAll(this);
  node_.SetMig(7, "off");

  SeeAll(this);
  EXPECT_EQ(news_, 0);

  node_.SetMig(7, "[]");
  int another = 0;
  SeeAll(&another);
  EXPECT_EQ(news_, 1);
}

TEST_F(GeometryTest, AnotherNumberOfGpusIsNews) {
  Subscribe();
  SeeAll(nullptr);
  node_.SetGpus(7);
  SeeAll(nullptr);
  EXPECT_EQ(news_, 1);
  node_.SetGpus(8);
  SeeAll(nullptr);  // the GPU itself was not seen since
  EXPECT_EQ(news_, 2);
}

TEST_F(GeometryTest, WithALibraryThatIsOpenTheWatchSeesItByItself) {
  const nvml::LibraryPtr library = session_->Open().value();
  SeeAll(nullptr);
  Subscribe();

  node_.SetMig(6, "[{profile: 7g.80gb, gi: 0, memory: 81152}]");
  AwaitNews(1);
  node_.SetGpus(9);
  AwaitNews(2);
}

TEST_F(GeometryTest, AGpuThatHangsOrFailsHidesNoOthersNews) {
  const nvml::LibraryPtr library = session_->Open().value();
  SeeAll(nullptr);
  node_.SetFaults("gpus: {0: {hang: all}, 1: {lost: true}}");
  Subscribe();

  node_.SetMig(7, "off");
  AwaitNews(1);

  node_.SetMig(7, "[]");
  AwaitNews(2);
  EXPECT_EQ(news_, 2);
  node_.SetFaults("");
}

TEST_F(GeometryTest, AfterItsEndAListenerHearsNothing) {
  Subscribe();
  SeeAll(nullptr);
  watch_.Unsubscribe(this);
  node_.SetMig(7, "off");
  SeeAll(nullptr);
  EXPECT_EQ(news_, 0);
}

TEST_F(GeometryTest, ASessionHasOneWatchForAll) {
  const auto watch = GeometryWatch::Of(session_);
  EXPECT_EQ(GeometryWatch::Of(session_), watch);
}

}  // namespace
}  // namespace tessera::nvidia
