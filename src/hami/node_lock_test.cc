// SPDX-License-Identifier: Apache-2.0
#include "hami/node_lock.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

constexpr Wall kLocked{std::chrono::seconds(1'787'304'600)};  // 2026-08-21T09:30:00Z
constexpr char kValue[] = "2026-08-21T09:30:00Z,default,gpu-pod";

std::string LockError(std::string_view value) {
  const auto lock = ReadNodeLock(value);
  return lock ? "" : lock.error().message;
}

TEST(NodeLock, IsWrittenAndReadAsHamiDoes) {
  const NodeLock lock = {kLocked, LockOwner{"default", "gpu-pod"}};
  EXPECT_EQ(WriteNodeLock(lock), kValue);
  EXPECT_EQ(ReadNodeLock(kValue), lock);
}

TEST(NodeLock, OfAnOlderReleaseItIsTheTimeAlone) {
  EXPECT_EQ(ReadNodeLock("2026-08-21T17:30:00+08:00"), NodeLock{kLocked});
  EXPECT_EQ(WriteNodeLock({kLocked}), "2026-08-21T09:30:00Z");
}

TEST(NodeLock, OtherTextIsRefused) {
  EXPECT_EQ(LockError(""), R"(hami.io/mutex.lock: "" is not a time such as 2026-08-21T09:30:00Z)");
  EXPECT_EQ(LockError("yesterday,default,gpu-pod"),
            "hami.io/mutex.lock: yesterday is not a time such as 2026-08-21T09:30:00Z");
  EXPECT_EQ(LockError("2026-08-21T09:30:00Z,gpu-pod"),
            "hami.io/mutex.lock: 2026-08-21T09:30:00Z,gpu-pod is not TIME,NAMESPACE,POD");
  EXPECT_EQ(LockError("2026-08-21T09:30:00Z,a,b,c"),
            "hami.io/mutex.lock: 2026-08-21T09:30:00Z,a,b,c is not TIME,NAMESPACE,POD");
}

TEST(NodeLock, ItsOwnerIsWhoItEndsWith) {
  EXPECT_TRUE(IsLockOf(kValue, {"default", "gpu-pod"}));
  EXPECT_TRUE(IsLockOf("when?,default,gpu-pod", {"default", "gpu-pod"}));
  EXPECT_FALSE(IsLockOf(kValue, {"default", "pod"}));
  EXPECT_FALSE(IsLockOf(kValue, {"ault", "gpu-pod"}));
  EXPECT_FALSE(IsLockOf("2026-08-21T09:30:00Z", {"default", "gpu-pod"}));
  EXPECT_FALSE(IsLockOf("", {"", ""}));
}

TEST(NodeLock, ExpiresBehindTheTimeout) {
  const NodeLock lock{kLocked};
  EXPECT_FALSE(lock.IsExpired(kLocked, kNodeLockTimeout));
  EXPECT_FALSE(lock.IsExpired(kLocked + kNodeLockTimeout, kNodeLockTimeout));
  EXPECT_TRUE(lock.IsExpired(kLocked + kNodeLockTimeout + Duration(1), kNodeLockTimeout));
  EXPECT_FALSE(lock.IsExpired(kLocked - std::chrono::hours(1), kNodeLockTimeout));
}

TEST(NodeLock, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(8);
  for (int round = 0; round < 2'000; ++round) {
    NodeLock lock{Wall(std::chrono::seconds(random()))};
    if (random() % 4 > 0) {
      lock.owner = LockOwner{std::to_string(random()), "pod-" + std::to_string(random())};
    }
    ASSERT_EQ(ReadNodeLock(WriteNodeLock(lock)), lock);
    ASSERT_EQ(IsLockOf(WriteNodeLock(lock), lock.owner.value_or(LockOwner())),
              lock.owner.has_value());
  }
}

}  // namespace
}  // namespace tessera::hami
