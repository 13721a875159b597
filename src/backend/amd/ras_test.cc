// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/ras.h"

#include <gtest/gtest.h>

#include "amd/node.h"
#include "backend/amd/node_test.h"
#include "base/clock.h"

namespace tessera::amd {
namespace {

constexpr char kGpu[] = "0000:47:00.0";

class RasTest : public NodeTest {
 protected:
  RasErrors Fresh() {
    clock_.Advance(Duration(1'000));
    return ras_.Look(kGpu).fresh;
  }
  uint64_t Pages() {
    clock_.Advance(Duration(1'000));
    return ras_.Look(kGpu).failed_pages;
  }

  AmdNode node_{directory_, Mi300x()};
  FakeClock clock_;
  RasWatch ras_{root_, clock_};
};

TEST_F(RasTest, AGpuWithoutErrorsHasNone) {
  EXPECT_EQ(ReadRas(root_, kGpu).at("umc"), 0U);
  EXPECT_EQ(ReadRas(root_, kGpu).at("gfx"), 0U);
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, AnUncorrectedErrorIsToldOnce) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 2, 7);
  EXPECT_EQ(Fresh(), (RasErrors{{"gfx", 2}}));
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 3, 7);
  node_.SetRas(2, "umc", 1, 0);
  EXPECT_EQ(Fresh(), (RasErrors{{"gfx", 1}, {"umc", 1}}));
}

TEST_F(RasTest, PagesThatCannotBeSetAsideAreToldByEachReading) {
  const std::string pages = DevicePath(node_.node().gpus[2]) + "/ras/gpu_vram_bad_pages";
  Write(pages, "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : F\n");
  EXPECT_EQ(Pages(), 1U);
  EXPECT_EQ(Pages(), 1U);
  EXPECT_EQ(ras_.Look(kGpu).failed_pages, 1U);
  ras_.WasReset(kGpu);
  EXPECT_EQ(Pages(), 1U);
  Write(pages, "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : R\n");
  EXPECT_EQ(Pages(), 0U);
}

TEST_F(RasTest, FewerFailedPagesAreNoReset) {
  const std::string pages = DevicePath(node_.node().gpus[2]) + "/ras/gpu_vram_bad_pages";
  Write(pages, "0x00000002 : 0x00001000 : F\n");
  EXPECT_EQ(Pages(), 1U);
  Write(pages, "0x00000002 : 0x00001000 : R\n");
  clock_.Advance(Duration(1'000));
  EXPECT_FALSE(ras_.Look(kGpu).reset);
}

TEST_F(RasTest, PagesThatCannotBeReadAreAsTheyWere) {
  const std::string pages = DevicePath(node_.node().gpus[2]) + "/ras/gpu_vram_bad_pages";
  Write(pages, "0x00000002 : 0x00001000 : F\n");
  EXPECT_EQ(Pages(), 1U);
  ASSERT_TRUE(os::RemoveFile(directory_ + pages));
  clock_.Advance(Duration(1'000));
  const RasWatch::Answer answer = ras_.Look(kGpu);
  EXPECT_EQ(answer.failed_pages, 1U);
  EXPECT_FALSE(answer.reset);
}

TEST_F(RasTest, ACountThatCannotBeReadOnceMakesNoErrorFresh) {
  node_.SetRas(2, "umc", 5, 0);
  EXPECT_EQ(Fresh(), RasErrors());
  Write(DevicePath(node_.node().gpus[2]) + "/ras/umc_err_count", "");
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "umc", 5, 0);
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, ErrorsFromBeforeAreOld) {
  node_.SetRas(2, "umc", 5, 0);
  node_.SetRas(2, "sdma", 1, 0);
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, CountsThatBeginAnewAreAReset) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 2, 0);
  EXPECT_EQ(Fresh(), (RasErrors{{"gfx", 2}}));
  node_.SetRas(2, "gfx", 0, 0);
  clock_.Advance(Duration(1'000));
  EXPECT_TRUE(ras_.Look(kGpu).reset);
  EXPECT_FALSE(ras_.Look(kGpu).reset);
}

TEST_F(RasTest, AResetIsToldOnceMoreAndMakesItsErrorsOld) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 2, 0);
  ras_.WasReset(kGpu);
  const RasWatch::Answer answer = ras_.Look(kGpu);
  EXPECT_TRUE(answer.reset);
  EXPECT_EQ(answer.fresh, RasErrors());
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, AResetWhileNothingCanBeReadMakesNoOldErrorFresh) {
  node_.SetRas(2, "gfx", 2, 0);
  EXPECT_EQ(Fresh(), RasErrors());
  const std::string ras = directory_ + DevicePath(node_.node().gpus[2]) + "/ras";
  ASSERT_EQ(rename(ras.c_str(), (ras + ".away").c_str()), 0);
  ras_.WasReset(kGpu);
  EXPECT_FALSE(ras_.Look(kGpu).reset);
  ASSERT_EQ(rename((ras + ".away").c_str(), ras.c_str()), 0);
  clock_.Advance(Duration(1'000));
  const RasWatch::Answer answer = ras_.Look(kGpu);
  EXPECT_TRUE(answer.reset);
  EXPECT_EQ(answer.fresh, RasErrors());
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, ErrorsStandUntilAReset) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 2, 0);
  EXPECT_EQ(Fresh(), (RasErrors{{"gfx", 2}}));
  EXPECT_EQ(Fresh(), RasErrors());
  EXPECT_EQ(ras_.Look(kGpu).standing, (RasErrors{{"gfx", 2}}));
  ras_.WasReset(kGpu);
  EXPECT_EQ(ras_.Look(kGpu).standing, RasErrors());
}

TEST_F(RasTest, CorrectedErrorsDoNotCount) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 0, 1'000);
  EXPECT_EQ(Fresh(), RasErrors());
}

TEST_F(RasTest, WithinASecondTheGpuIsAskedOnce) {
  EXPECT_EQ(Fresh(), RasErrors());
  node_.SetRas(2, "gfx", 2, 0);
  EXPECT_EQ(ras_.Look(kGpu).fresh, RasErrors());
}

TEST(FailedPagesTest, OnlyTheLastFieldCounts) {
  EXPECT_EQ(CountFailedPages("F : F : R\n1 : 2 : F \n3 : 4 : FF\nF\n:F"), 2U);
  EXPECT_EQ(CountFailedPages(""), 0U);
}

TEST(UncorrectedTest, OnlyItsLineCounts) {
  EXPECT_EQ(ParseUncorrected("ue: 3\nce: 4\nde: 5\n"), 3U);
  EXPECT_EQ(ParseUncorrected("ce: 4\n"), std::nullopt);
  EXPECT_EQ(ParseUncorrected("ue: many\n"), std::nullopt);
}

}  // namespace
}  // namespace tessera::amd
