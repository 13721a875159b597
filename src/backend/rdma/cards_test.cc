// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/cards.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace tessera::rdma {
namespace {

using Kind = LinkState::Kind;

Card Up() {
  return {.link = {Kind::kUp, ""}};
}

TEST(Cards, AStateIsReadOnceWhileItIsFresh) {
  Cards cards(Duration(3'600'000));
  EXPECT_EQ(cards.Of("a", Up), Up());
  EXPECT_EQ(cards.Of("a", [] { return Card{.is_lost = true}; }), Up());
  EXPECT_EQ(cards.Of("b", [] { return Card{.is_lost = true}; }), Card{.is_lost = true});
}

TEST(Cards, ACardThatHangsCostsOneThreadAndNoOtherCard) {
  Cards cards(Duration(0));
  std::latch asked(1), answer(1);
  std::thread hanging([&] {
    cards.Of("a", [&] {
      asked.count_down();
      answer.wait();
      return Up();
    });
  });
  asked.wait();
  EXPECT_EQ(cards.Of("a", Up),
            (Card{.link = {Kind::kUnknown, "an earlier check of the card still waits"}}));
  EXPECT_EQ(cards.Of("b", Up), Up());
  answer.count_down();
  hanging.join();
  EXPECT_EQ(cards.Of("a", Up), Up());
}

}  // namespace
}  // namespace tessera::rdma
