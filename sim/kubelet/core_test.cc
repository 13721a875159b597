// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/core.h"

#include <gtest/gtest.h>

namespace tessera::kubelet::embedded {
namespace {

using EventKind = KubeletEvent::Kind;

TEST(Core, WaitsAreDividedByTheSpeedAndNeverNothing) {
  EmbeddedOptions options;
  options.speed = 50;
  Core core(options);
  EXPECT_EQ(core.Scaled(Duration(1'000)), Duration(20));
  EXPECT_EQ(core.Scaled(Duration(10)), Duration(1));
  Core real_time((EmbeddedOptions()));
  EXPECT_EQ(real_time.Scaled(Duration(1'000)), Duration(1'000));
}

TEST(Core, EventsReachTheListenerOnceAndInOrder) {
  Core core((EmbeddedOptions()));
  std::vector<std::string> texts;
  core.SetListener([&](const KubeletEvent& event) { texts.push_back(event.text); });
  core.Emit(EventKind::kList, "a.com/b", "first");
  core.Emit(EventKind::kList, "a.com/b", "second");
  EXPECT_TRUE(texts.empty());
  core.loop.RunOnce();
  core.DeliverEvents();
  EXPECT_EQ(texts, (std::vector<std::string>{"first", "second"}));
}

TEST(Core, AListenerMayEmitAndReplaceItself) {
  Core core((EmbeddedOptions()));
  std::vector<std::string> texts;
  core.SetListener([&](const KubeletEvent& event) {
    texts.push_back(event.text);
    core.SetListener([&](const KubeletEvent& later) { texts.push_back("later " + later.text); });
    core.Emit(EventKind::kList, "", "second");
  });
  core.Emit(EventKind::kList, "", "first");
  core.DeliverEvents();
  EXPECT_EQ(texts, (std::vector<std::string>{"first", "later second"}));
}

TEST(Core, GarbageIsWhatNeitherRunsNorIsInAdmission) {
  Core core((EmbeddedOptions()));
  const MutexLock lock(core.mutex);
  for (const char* uid : {"runs", "pending", "ended"}) {
    core.devices.Keep({uid, "app", "a.com/b"}, {uid}, "");
  }
  core.pods.Put({.spec = {"ns", "pod", "runs", {}}, .started = {}});
  core.pending = {"pending"};
  core.CollectGarbage();
  EXPECT_EQ(core.devices.pod_devices().Pods(), (Ids{"pending", "runs"}));
}

}  // namespace
}  // namespace tessera::kubelet::embedded
