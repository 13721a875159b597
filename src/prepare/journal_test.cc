// SPDX-License-Identifier: Apache-2.0
#include "prepare/journal.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr char kGrant[] = "00000000000000000000000000000001";

Preparation Whole() {
  return {.grant = kGrant,
          .grants = {kGrant, "00000000000000000000000000000002"},
          .resource = "fixture.com/card",
          .preparer = "slot",
          .pod_uid = "uid-1",
          .share_ids = {"0", "1"},
          .devices = {"0", "1"},
          .hardware = {"slot-0"},
          .boot_id = "a-boot",
          .cdi_dir = "/var/run/cdi",
          .cdi_kind = "fixture.com/grant",
          .step = PrepareStep::kPrepared,
          .prepared = {.edits = {.env = {"SLOT=0"}}, .files = {"/run/fixture/0"}},
          .edits = {.env = {"SLOT=0"},
                    .nodes = {{.path = "/dev/slot0",
                               .host_path = "/dev/slots/0",
                               .type = "c",
                               .major = 240,
                               .minor = 7,
                               .permissions = "rw"}},
                    .mounts = {{.host_path = "/a", .container_path = "/b", .options = {"ro"}}}}};
}

class JournalTest : public testing::Test {
 protected:
  ~JournalTest() override { (void)os::RemoveTree(directory_); }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "journal");
  const Journal journal_{directory_};
};

TEST_F(JournalTest, AnEntryIsReadBackAsItWasWritten) {
  EXPECT_FALSE(journal_.any());
  const auto lock = journal_.Lock();
  ASSERT_TRUE(lock);
  ASSERT_TRUE(journal_.Write(Whole()));

  const auto read = journal_.Read();

  ASSERT_TRUE(read);
  EXPECT_EQ(read->entries, std::vector{Whole()});
  EXPECT_TRUE(read->unreadable.empty());
  EXPECT_TRUE(journal_.any());
}

TEST_F(JournalTest, AnEntryThatIsRemovedIsGone) {
  const auto lock = journal_.Lock();
  ASSERT_TRUE(journal_.Write(Whole()));
  ASSERT_TRUE(journal_.Remove(kGrant));

  EXPECT_TRUE(journal_.Read()->entries.empty());
}

TEST_F(JournalTest, IsOneInstancesAtATime) {
  {
    const auto first = journal_.Lock();
    ASSERT_TRUE(first);
    EXPECT_EQ(journal_.Lock().error().reason, Reason::kStateLocked);
  }
  EXPECT_TRUE(journal_.Lock());
}

TEST_F(JournalTest, AnEntryThatCannotBeReadCostsNoOther) {
  const auto lock = journal_.Lock();
  ASSERT_TRUE(journal_.Write(Whole()));
  const std::string torn = directory_ + "/prepared/00000000000000000000000000000003.json";
  const std::string other = directory_ + "/prepared/00000000000000000000000000000004.json";
  ASSERT_TRUE(os::ReplaceFile(torn, "{\"version\": 0}"));
  ASSERT_TRUE(os::ReplaceFile(other, PreparationText(Whole())));

  const auto read = journal_.Read();

  ASSERT_TRUE(read);
  EXPECT_EQ(read->entries, std::vector{Whole()});
  const std::string unread = " records a preparation and cannot be read: ";
  EXPECT_EQ(
      read->unreadable,
      (std::map<std::string, UnreadPreparation>{
          {"00000000000000000000000000000003",
           {.why = {Reason::kJournalUnreadable, torn + unread + "it is not a preparation"}}},
          {"00000000000000000000000000000004",
           {.why = {Reason::kJournalUnreadable, other + unread + "it belongs to another grant"},
            .resource = "fixture.com/card",
            .devices = {"0", "1"},
            .hardware = {"slot-0"}}}}));
}

TEST_F(JournalTest, OfANewerAgentsEntryItIsKnownWhichDevicesItIsAbout) {
  const auto lock = journal_.Lock();
  const std::string newer = directory_ + "/prepared/00000000000000000000000000000003.json";
  ASSERT_TRUE(os::ReplaceFile(newer,
                              R"({"version": 2, "resource": "fixture.com/card", "devices": ["1"],)"
                              R"( "files": {"a": "b"}})"));

  const auto read = journal_.Read();

  ASSERT_TRUE(read);
  EXPECT_EQ(read->unreadable, (std::map<std::string, UnreadPreparation>{
                                  {"00000000000000000000000000000003",
                                   {.why = {Reason::kJournalUnreadable,
                                            newer + " records a preparation and cannot be read: it "
                                                    "has version 2, this agent reads 1"},
                                    .resource = "fixture.com/card",
                                    .devices = {"1"}}}}));
}

TEST_F(JournalTest, WhetherAnEntryCouldBeWrittenIsKnownWithoutOne) {
  const auto lock = journal_.Lock();
  EXPECT_TRUE(journal_.Check());
  EXPECT_EQ(os::ListDirectory(journal_.directory()), std::vector<std::string>());

  ASSERT_TRUE(os::RemoveTree(journal_.directory()));
  EXPECT_EQ(journal_.Check().error().reason, Reason::kNotFound);
}

TEST_F(JournalTest, WhatIsLeftNamesItsResourcesAndWhoUndoesIt) {
  const auto lock = journal_.Lock();
  EXPECT_EQ(LeftIn(journal_), std::nullopt);
  ASSERT_TRUE(journal_.Write(Whole()));
  const std::string left =
      "of fixture.com/card. Run an agent that has these configured, without pods that use them, "
      "until " +
      journal_.directory() + " is empty; a reboot undoes nothing";
  EXPECT_EQ(LeftIn(journal_), (Error{Reason::kNotUnprepared, "1 grant not undone yet, " + left}));

  const std::string torn = journal_.PathOf("00000000000000000000000000000003");
  ASSERT_TRUE(os::ReplaceFile(torn, "{"));
  const Error why = journal_.Read()->unreadable.begin()->second.why;
  EXPECT_EQ(LeftIn(journal_), (Error{Reason::kNotUnprepared,
                                     "2 grants not undone yet, " + left + "; " + why.Text()}));
}

TEST_F(JournalTest, WhatDoesNotSayWhatIsPreparedIsNoEntry) {
  Preparation nameless = Whole();
  nameless.preparer.clear();
  EXPECT_EQ(ReadPreparation(PreparationText(nameless)).error(),
            (Error{Reason::kStateCorrupt, "it does not say what is prepared"}));
  nameless = Whole();
  nameless.grants = {"../../etc/passwd"};
  EXPECT_FALSE(ReadPreparation(PreparationText(nameless)));
}

}  // namespace
}  // namespace tessera
