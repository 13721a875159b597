// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/library.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "backend/ascend/node_test.h"
#include "base/mutex.h"

namespace tessera::dcmi {
namespace {

class LibraryTest : public ascend::NodeTest {
 protected:
  std::shared_ptr<Session> session() const { return Session::Of(root_); }
};

TEST_F(LibraryTest, AMissingLibraryIsAMissingDriver) {
  const auto library = session()->Open();
  EXPECT_EQ(library.error().reason, Reason::kDriverMissing);
  EXPECT_TRUE(library.error().message.starts_with("cannot load DCMI: it is not there (looked for " +
                                                  directory_ + "/usr/local/dcmi/libdcmi.so, "))
      << library.error().message;
  EXPECT_EQ(session()->FileNow(), "");
}

TEST_F(LibraryTest, ALibraryThatOthersMayChangeIsNotLoaded) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  ASSERT_EQ(chmod((directory_ + ascend::kLibraryPath).c_str(), 0666), 0);
  EXPECT_TRUE(session()->Open().error().message.find("is not loaded: users other than root can "
                                                     "change") != std::string::npos);
}

TEST_F(LibraryTest, AllWhoAskHaveOneLibrary) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  const auto session = Session::Of(root_);
  EXPECT_EQ(session, Session::Of(root_));
  const LibraryPtr library = session->Open().value();
  EXPECT_EQ(library, session->Open().value());
  EXPECT_EQ(library->Cards().value(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(LibraryTest, AFunctionThatTheDriverLacksIsAnAnswer) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  node.InstallDriver("dcmi_get_device_health");
  const auto health = session()->Open().value()->Health({0, 0});
  EXPECT_EQ(health.error(), (Failure{"dcmi_get_device_health", kFunctionNotFound}));
  EXPECT_TRUE(health.error().IsUnsupported());
  EXPECT_EQ(health.error().Text(),
            "dcmi_get_device_health: the driver lacks the function (-99998)");
}

TEST_F(LibraryTest, AnOldDriverHasTheListOfCardsByItsFormerName) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  node.InstallDriver("dcmi_get_card_list");
  EXPECT_EQ(session()->Open().value()->Cards().error().function, "dcmi_get_card_num_list");
}

TEST_F(LibraryTest, MemoryIsThatOfEitherKind) {
  ascend::AscendNode node(directory_, ascend::Duo310p());
  EXPECT_EQ(session()->Open().value()->Memory({3, 0}).value(), 43'692U);
}

TEST_F(LibraryTest, AVnpuIsAskedForByItsNumber) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  const LibraryPtr library = session()->Open().value();
  EXPECT_EQ(library->CreateVnpu({4, 0}, kAnyId, "vir10_3c_32g").value(), 164U);
  EXPECT_EQ(library->Vnpus({4, 0}).value(), std::vector<uint32_t>{164});
  const VnpuQuery vnpu = library->Vnpu({4, 0}, 164).value();
  EXPECT_STREQ(vnpu.name, "vir10_3c_32g");
  EXPECT_EQ(vnpu.computing.ai_cores, 10);
  EXPECT_EQ(vnpu.computing.memory, 32'768U);
  EXPECT_EQ(vnpu.used_by_container, 0U);
  EXPECT_TRUE(library->DestroyVnpu({4, 0}, 164));
  EXPECT_EQ(library->DestroyVnpu({4, 0}, 164).error().code, kInvalidParameter);
}

// Events that have come.
class Ear {
 public:
  // Waits for one event more.
  FaultEvent Await() {
    MutexLock lock(mutex_);
    const auto has_one = [this]() TESSERA_REQUIRES(mutex_) { return !events_.empty(); };
    EXPECT_TRUE(some_.wait_for(lock, Duration(10'000), has_one));
    if (events_.empty()) return {};
    const FaultEvent event = events_.front();
    events_.erase(events_.begin());
    return event;
  }

 private:
  void Hear(const FaultEvent& event) {
    const MutexLock lock(mutex_);
    events_.push_back(event);
    some_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable some_;
  std::vector<FaultEvent> events_ TESSERA_GUARDED_BY(mutex_);
  const Listening listening_{[this](const FaultEvent& event) { Hear(event); }};
};

TEST_F(LibraryTest, AnEventComesWithItsChipAndCode) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  ASSERT_TRUE(session()->Open());
  Ear ear;
  node.Tell(5, 0x80E01801, 3, 1);
  const FaultEvent event = ear.Await();
  EXPECT_EQ(event.of.code, 0x80E01801U);
  EXPECT_EQ(event.of.device, 5);
  EXPECT_EQ(event.of.severity, 3);
  EXPECT_EQ(event.of.assertion, kRaised);
}

TEST_F(LibraryTest, AnEventComesOnceAfterTheLibraryWasStartedAnew) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  ASSERT_TRUE(session()->Open());
  node.InstallDriver();
  ASSERT_TRUE(session()->Open());
  Ear ear;
  for (uint32_t code = 1; code <= 20; ++code) {
    node.Tell(5, code, 3, 1);
    EXPECT_EQ(ear.Await().of.code, code);
  }
}

TEST_F(LibraryTest, ASubscriptionThatFailedIsTriedAgain) {
  ascend::AscendNode node(directory_, ascend::Eight910b3());
  node.Fail("dcmi_subscribe_fault_event", -1, -8005);
  ASSERT_TRUE(session()->Open());
  node.Mend();
  ASSERT_TRUE(session()->Open());
  Ear ear;
  node.Tell(5, 0x80E01801, 3, 1);
  EXPECT_EQ(ear.Await().of.code, 0x80E01801U);
}

}  // namespace
}  // namespace tessera::dcmi
