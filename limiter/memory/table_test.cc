// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

TEST(TableTest, WhatIsAddedIsFoundUntilItIsTaken) {
  const auto table = std::make_unique<Table>();
  Holding holding;
  EXPECT_FALSE(table->Find(Sort::kLinear, 0x7000, &holding));
  EXPECT_TRUE(table->Add(Sort::kLinear, 0x7000, {.bytes = 512, .device = 3}));
  EXPECT_FALSE(table->Add(Sort::kLinear, 0x7000, {.bytes = 1}));
  ASSERT_TRUE(table->Take(Sort::kLinear, 0x7000, &holding));
  EXPECT_EQ(holding.bytes, 512u);
  EXPECT_EQ(holding.device, 3);
  EXPECT_FALSE(table->Take(Sort::kLinear, 0x7000, &holding));
}

TEST(TableTest, KeysOfDifferentSortsNeverMeet) {
  const auto table = std::make_unique<Table>();
  EXPECT_TRUE(table->Add(Sort::kLinear, 7, {.bytes = 1}));
  EXPECT_TRUE(table->Add(Sort::kHandle, 7, {.bytes = 2}));
  Holding holding;
  ASSERT_TRUE(table->Take(Sort::kHandle, 7, &holding));
  EXPECT_EQ(holding.bytes, 2u);
  EXPECT_TRUE(table->Find(Sort::kLinear, 7, &holding));
}

TEST(TableTest, AHandleIsThereUntilBothItsCountsAreNone) {
  const auto table = std::make_unique<Table>();
  table->Add(Sort::kHandle, 9, {.bytes = 64, .references = 1});
  Holding after;
  EXPECT_TRUE(table->Count(Sort::kHandle, 9, 0, 1, 0, &after));
  EXPECT_TRUE(table->Count(Sort::kHandle, 9, -1, 0, 0, &after));
  EXPECT_EQ(after.references, 0u);
  EXPECT_EQ(after.mappings, 1u);
  EXPECT_TRUE(table->Count(Sort::kHandle, 9, 0, -1, 0, &after));
  EXPECT_EQ(after.bytes, 64u);
  EXPECT_FALSE(table->Count(Sort::kHandle, 9, 0, 0, 0, &after));
}

TEST(TableTest, ItHoldsWhatAMapHoldsWhateverIsDoneInWhateverOrder) {
  const auto table = std::make_unique<Table>();
  std::map<uint64_t, uint64_t> map;
  std::mt19937_64 random(3);
  for (int i = 0; i < 300'000; ++i) {
    const uint64_t key = 0x7f0000000000 + (random() % 5'000) * 512;
    Holding holding{.bytes = random() % 1000};
    if (random() % 2 == 0) {
      ASSERT_EQ(table->Add(Sort::kLinear, key, holding), map.emplace(key, holding.bytes).second);
    } else {
      ASSERT_EQ(table->Take(Sort::kLinear, key, &holding), map.count(key) == 1);
      if (map.count(key) == 1) {
        ASSERT_EQ(holding.bytes, map[key]);
      }
      map.erase(key);
    }
  }
  Holding holding;
  for (const auto& [key, bytes] : map) {
    ASSERT_TRUE(table->Take(Sort::kLinear, key, &holding));
    ASSERT_EQ(holding.bytes, bytes);
  }
}

TEST(TableTest, TheKeysOfASortAreCopied) {
  const auto table = std::make_unique<Table>();
  size_t count = 1;
  EXPECT_EQ(table->Keys(Sort::kLinear, &count), nullptr);
  for (uint64_t key = 1; key <= 300; ++key) table->Add(Sort::kLinear, key * 512, {});
  table->Add(Sort::kArray, 0x5555, {});
  uint64_t* const keys = table->Keys(Sort::kLinear, &count);
  ASSERT_NE(keys, nullptr);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += keys[i];
  EXPECT_EQ(sum, 300u * 301 / 2 * 512);
  munmap(keys, count * Table::kKeySize);
}

TEST(TableTest, ThreadsDoNotDisturbOneAnother) {
  const auto table = std::make_unique<Table>();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t key = (i * 4 + thread) * 512 + 512;
        EXPECT_TRUE(table->Add(Sort::kLinear, key, {.bytes = i}));
        Holding holding;
        if (i >= 100) {
          EXPECT_TRUE(table->Take(Sort::kLinear, key - 100 * 4 * 512, &holding));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TableTest, AForkedChildFindsItEmpty) {
  ASSERT_TRUE(TheTable()->Add(Sort::kLinear, 77, {.bytes = 1}));
  const pid_t pid = fork();
  if (pid == 0) {
    Holding holding;
    _exit(TheTable()->Find(Sort::kLinear, 77, &holding) ? 1 : 0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  Holding holding;
  EXPECT_TRUE(TheTable()->Take(Sort::kLinear, 77, &holding));
}

TEST(TableTest, AMarkIsWrittenOnWhatIsThereAlone) {
  Table& table = *TheTable();
  EXPECT_FALSE(table.Mark(Sort::kGraphOn, 0x7000, 5));
  ASSERT_TRUE(table.Add(Sort::kGraphOn, 0x7000, {.bytes = 3}));
  EXPECT_TRUE(table.Mark(Sort::kGraphOn, 0x7000, 5));
  EXPECT_FALSE(table.Mark(Sort::kGraph, 0x7000, 6));
  Holding holding;
  EXPECT_TRUE(table.Take(Sort::kGraphOn, 0x7000, &holding));
  EXPECT_EQ(holding.other, 5u);
  EXPECT_EQ(holding.bytes, 3u);
}

}  // namespace
}  // namespace tessera::limiter
