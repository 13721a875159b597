// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/go_text.h"

#include <gtest/gtest.h>

namespace tessera::kubelet::embedded {
namespace {

TEST(GoText, QuotesAsGoDoes) {
  EXPECT_EQ(Quoted("v1"), R"("v1")");
  EXPECT_EQ(Quoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\x01")");
}

TEST(GoText, AnRpcErrorReadsAsInGo) {
  EXPECT_EQ(RpcErrorText(14, "nobody there"), "rpc error: code = Unavailable desc = nobody there");
  EXPECT_EQ(RpcErrorText(12, ""), "rpc error: code = Unimplemented desc = ");
  EXPECT_EQ(RpcErrorText(99, "x"), "rpc error: code = Code(99) desc = x");
}

TEST(GoText, ADeadlineIsNamedInGosWords) {
  EXPECT_EQ(RpcErrorText(4, "Deadline Exceeded"),
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
}

}  // namespace
}  // namespace tessera::kubelet::embedded
