// SPDX-License-Identifier: Apache-2.0
#include "os/mailbox.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tessera::os {
namespace {

struct Reader {
  explicit Reader(Loop& loop) : mailbox(loop, *this) {}
  void Read(const std::string& letter, int copies) {
    for (int i = 0; i < copies; ++i) letters.push_back(letter);
    thread = std::this_thread::get_id();
  }
  std::vector<std::string> letters;
  std::thread::id thread;
  Mailbox<Reader> mailbox;
};

TEST(Mailbox, WhatAnotherThreadSendsIsReadOnTheLoopsThread) {
  Loop loop;
  Reader reader(loop);
  std::thread([send = reader.mailbox.Bind(&Reader::Read)] {
    send("first", 1);
    send("second", 2);
  }).join();
  EXPECT_EQ(reader.letters, std::vector<std::string>());
  loop.RunOnce();
  EXPECT_EQ(reader.letters, (std::vector<std::string>{"first", "second", "second"}));
  EXPECT_EQ(reader.thread, std::this_thread::get_id());
}

TEST(Mailbox, NobodyReadsWhatComesAfterTheOwnerHasGone) {
  Loop loop;
  int read = 0;
  std::optional<Reader> reader(std::in_place, loop);
  auto send = reader->mailbox.Bind([&read](Reader&) { ++read; });
  send();
  loop.RunOnce();
  EXPECT_EQ(read, 1);
  send();
  reader.reset();
  send();
  loop.RunOnce();
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace tessera::os
