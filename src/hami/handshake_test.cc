// SPDX-License-Identifier: Apache-2.0
#include "hami/handshake.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

constexpr Wall kSaid{std::chrono::seconds(1'787'304'600)};  // 2026-08-21 09:30:00

TEST(Handshake, OfTheSchedulerIsRead) {
  EXPECT_EQ(ReadHandshake("Requesting_2026-08-21 09:30:00"),
            (Handshake{HandshakeState::kRequesting, kSaid}));
  EXPECT_EQ(ReadHandshake("Deleted_2026-08-21 09:30:00"),
            (Handshake{HandshakeState::kDeleted, kSaid}));
}

TEST(Handshake, OfAnOlderPluginIsRead) {
  EXPECT_EQ(ReadHandshake("Reported 2026-08-21 09:30:00.434037031 +0000 UTC m=+1104711.777756895"),
            (Handshake{HandshakeState::kReported, kSaid}));
}

TEST(Handshake, WithoutATimeThatCanBeReadItIsTheStateAlone) {
  for (const char* value : {"Requesting", "Requesting_", "Requesting_soon",
                            "Requesting_2026.08.21 09:30:00", "x Requesting 2026-08-21 09:30:00"}) {
    EXPECT_EQ(ReadHandshake(value), Handshake{HandshakeState::kRequesting}) << value;
  }
  EXPECT_EQ(ReadHandshake("Deleted"), Handshake{HandshakeState::kDeleted});
  EXPECT_EQ(ReadHandshake("Reported"), Handshake{HandshakeState::kReported});
  EXPECT_EQ(ReadHandshake("Reported today"), Handshake{HandshakeState::kReported});
}

TEST(Handshake, OtherTextIsNone) {
  for (const char* value : {"", "requesting", "Hello", "_2026-08-21 09:30:00"}) {
    EXPECT_EQ(ReadHandshake(value), Handshake()) << value;
  }
}

TEST(Handshake, IsWrittenAsGoPrintsTheTime) {
  EXPECT_EQ(WriteReported(kSaid + Duration(434), Duration(12'250)),
            "Reported 2026-08-21 09:30:00.434 +0000 UTC m=+12.250000000");
}

TEST(Handshake, AscendsHasDotsInTheDate) {
  const std::string value = WriteAscendReported(kSaid);
  EXPECT_EQ(value, "Reported_2026.08.21 09:30:00");
  EXPECT_EQ(ReadHandshake(value).state, HandshakeState::kReported);
}

TEST(Handshake, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(9);
  for (int round = 0; round < 2'000; ++round) {
    const Wall time{Duration(random())};
    ASSERT_EQ(
        ReadHandshake(WriteReported(time, Duration(random()))),
        (Handshake{HandshakeState::kReported, std::chrono::floor<std::chrono::seconds>(time)}));
  }
}

}  // namespace
}  // namespace tessera::hami
