// SPDX-License-Identifier: Apache-2.0
#include "prepare/preparation_keeper.h"

#include "prepare/preparations_under_test.h"

namespace tessera {
namespace {

// A former agent had begun to undo the device's preparation.
TEST_F(PreparationsTest, ADeviceThatIsNotBackIsToldBeforeItIsServedAndOnceItIsBack) {
  End();
  const Journal journal(directory_ + "/state");
  {
    const auto lock = journal.Lock();
    ASSERT_TRUE(journal.Write({.grant = kOne,
                               .grants = {kOne},
                               .resource = kCard,
                               .preparer = "slot",
                               .devices = {"0"},
                               .step = PrepareStep::kUnpreparing}));
  }
  os::Loop loop;
  os::Workers workers(1);
  std::vector<std::string> told;
  auto keeper = std::make_unique<PreparationKeeper>(PreparationKeeper::Surroundings{
      .loop = loop,
      .workers = workers,
      .state_dir = directory_ + "/state",
      .root = os::Root(directory_),
      .changed = [&](const Preparations::Standing& now) {
        const auto& devices = now.outstanding;
        const std::string text = devices.empty() ? "" : devices.begin()->first.Text();
        if (told.empty() || told.back() != text) told.push_back(text);
        if (devices.empty()) loop.Stop();
      }});

  keeper->Open(kubelet::Directories{directory_});
  EXPECT_EQ(told, std::vector<std::string>{"fixture.com/card/0"});
  preparations_ = keeper->preparations();
  Serve(backend_);
  loop.Run();

  EXPECT_EQ(told, (std::vector<std::string>{"fixture.com/card/0", ""}));
  EXPECT_EQ(backend_->Calls(), "unprepare 0");
  EXPECT_EQ(StepOf(kOne), "no entry");
  keeper.reset();
  Settle();  // threads post to the loop
  Begin();
}

}  // namespace
}  // namespace tessera
