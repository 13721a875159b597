// SPDX-License-Identifier: Apache-2.0
#include "binding/state_mount.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera {
namespace {

class StateMountTest : public testing::Test {
 protected:
  ~StateMountTest() override { unsetenv("KUBERNETES_SERVICE_HOST"); }
  static void EnterPod() { setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1); }
  const Error failed_{Reason::kIo, "cannot make /no-such/tessera: Read-only file system"};
};

TEST_F(StateMountTest, WhatIsNotMountedIntoAPodHasItsOwnAdvice) {
  EnterPod();
  EXPECT_EQ(AboutStateMount(failed_, "/no-such/tessera"),
            (Error{Reason::kStateNotKept,
                   "cannot make /no-such/tessera: Read-only file system: nothing is mounted at "
                   "/no-such/tessera"}));
}

TEST_F(StateMountTest, OfAMountAndOnTheHostTheErrorIsWhatItWas) {
  EXPECT_EQ(AboutStateMount(failed_, "/no-such/tessera"), failed_);
  EnterPod();
  EXPECT_EQ(AboutStateMount(failed_, "/proc/tessera"), failed_);
}

}  // namespace
}  // namespace tessera
