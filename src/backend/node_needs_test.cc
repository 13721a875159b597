// SPDX-License-Identifier: Apache-2.0
#include "backend/node_needs.h"

#include <gtest/gtest.h>

#include "backend/fixture_kind_test.h"

namespace tessera {
namespace {

const std::vector<NodeNeed> kNeeds = {
    {NodeNeed::What::kModule, "card-core", "run 'modprobe card-core'"},
    {NodeNeed::What::kRuntimeHandler, "card", "install the vendor's runtime"}};

const Error kNoModule{Reason::kNodeLacks,
                      "the kernel has not loaded the module card-core: run 'modprobe card-core'"};
const Error kNoHandler{Reason::kNodeLacks,
                       "the container runtime has no handler card: install the vendor's runtime"};

using Errors = std::vector<Error>;
using Handlers = std::set<std::string>;

TEST(NodeNeeds, EachThatTheNodeLacksIsNamedWithWhatToDo) {
  const FixtureTree tree;

  EXPECT_EQ(MissingOn(tree.root(), Handlers{"runc"}, kNeeds), (Errors{kNoModule, kNoHandler}));
}

TEST(NodeNeeds, WhatIsThereIsNotNamed) {
  const FixtureTree tree;
  tree.Write("/sys/module/card_core/refcnt");

  EXPECT_EQ(MissingOn(tree.root(), Handlers{"card", "runc"}, kNeeds), Errors());
}

TEST(NodeNeeds, NothingIsSaidOfHandlersThatNobodyKnows) {
  const FixtureTree tree;

  EXPECT_EQ(MissingOn(tree.root(), std::nullopt, kNeeds), Errors{kNoModule});
}

}  // namespace
}  // namespace tessera
