// SPDX-License-Identifier: Apache-2.0
#include "report/node_labels.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Keys = std::vector<std::string>;

// The patch as text; "": none.
std::string Text(const NodePatch& patch) {
  return patch.patch ? json::Write(*patch.patch) : "";
}

TEST(NodeLabels, AFreshNodeGetsLabelsAndTheListOfThem) {
  const NodePatch patch =
      PatchLabels({{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.family", "hopper"}},
                  {.labels = {{"kubernetes.io/hostname", "n1"}}});

  EXPECT_EQ(
      Text(patch),
      R"({"metadata":{"labels":{"nvidia.com/gpu.count":"8","nvidia.com/gpu.family":"hopper"},)"
      R"("annotations":{"tessera.dev/owned-labels":)"
      R"("nvidia.com/gpu.count,nvidia.com/gpu.family"}}})");
  EXPECT_EQ(patch.others, Keys());
}

TEST(NodeLabels, ANodeThatIsAsItShouldBeIsLeftAlone) {
  const NodePatch patch =
      PatchLabels({{"nvidia.com/gpu.count", "8"}},
                  {.labels = {{"nvidia.com/gpu.count", "8"}},
                   .annotations = {{"tessera.dev/owned-labels", "nvidia.com/gpu.count"}},
                   .resource_version = "17"});

  EXPECT_EQ(Text(patch), "");
}

TEST(NodeLabels, OnlyWhatChangesIsSent) {
  const NodePatch patch = PatchLabels(
      {{"nvidia.com/gpu.count", "7"}, {"nvidia.com/gpu.family", "hopper"}},
      {.labels = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.family", "hopper"}},
       .annotations = {{"tessera.dev/owned-labels", "nvidia.com/gpu.count,nvidia.com/gpu.family"}},
       .resource_version = "17"});

  EXPECT_EQ(Text(patch),
            R"({"metadata":{"resourceVersion":"17","labels":{"nvidia.com/gpu.count":"7"}}})");
}

TEST(NodeLabels, ALabelThatIsNoLongerMadeIsTakenAway) {
  const NodePatch patch =
      PatchLabels({{"nvidia.com/gpu.count", "8"}},
                  {.labels = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.clique", "a.1"}},
                   .annotations = {{"tessera.dev/owned-labels",
                                    "nvidia.com/gpu.clique,nvidia.com/gpu.count"}}});

  EXPECT_EQ(Text(patch), R"({"metadata":{"labels":{"nvidia.com/gpu.clique":null},)"
                         R"("annotations":{"tessera.dev/owned-labels":"nvidia.com/gpu.count"}}})");
}

TEST(NodeLabels, ALabelOfOursThatIsGoneFromTheNodeIsOnlyForgotten) {
  const NodePatch patch =
      PatchLabels({}, {.annotations = {{"tessera.dev/owned-labels", "nvidia.com/gpu.clique"}}});

  EXPECT_EQ(Text(patch), R"({"metadata":{"annotations":{"tessera.dev/owned-labels":null}}})");
}

TEST(NodeLabels, WhatNodeFeatureDiscoveryListsIsNeverTouched) {
  const NodePatch patch = PatchLabels(
      {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.family", "hopper"}},
      {.labels = {{"nvidia.com/gpu.count", "4"}, {"nvidia.com/gpu.clique", "a.1"}},
       .annotations = {
           {"nfd.node.kubernetes.io/feature-labels",
            "cpu-cpuid.ADX,nvidia.com/gpu.count, nvidia.com/gpu.clique"},
           // Our keys from before node feature discovery was installed.
           {"tessera.dev/owned-labels", "nvidia.com/gpu.clique,nvidia.com/gpu.count"}}});

  EXPECT_EQ(Text(patch), R"({"metadata":{"labels":{"nvidia.com/gpu.family":"hopper"},)"
                         R"("annotations":{"tessera.dev/owned-labels":"nvidia.com/gpu.family"}}})");
  EXPECT_EQ(patch.others, Keys{"nvidia.com/gpu.count"});
}

TEST(NodeLabels, AnInstanceOfNodeFeatureDiscoveryWithANameIsOneAsWell) {
  const NodePatch patch = PatchLabels(
      {{"nvidia.com/gpu.count", "8"}, {"feature.node.kubernetes.io/x", "1"}},
      {.annotations = {{"blue.nfd.node.kubernetes.io/feature-labels", "nvidia.com/gpu.count,x"}}});

  EXPECT_EQ(Text(patch), "");
  EXPECT_EQ(patch.others, (Keys{"feature.node.kubernetes.io/x", "nvidia.com/gpu.count"}));
}

TEST(NodeLabels, ALabelThatSomebodyElsePutThereStaysAsItIs) {
  const NodePatch patch =
      PatchLabels({{"nvidia.com/gpu.product", "A"}}, {.labels = {{"nvidia.com/gpu.product", "B"}}});

  EXPECT_EQ(Text(patch), "");
  EXPECT_EQ(patch.others, Keys{"nvidia.com/gpu.product"});
}

TEST(NodeLabels, ALabelOfOursThatSomebodyChangedIsPutBack) {
  const NodePatch patch =
      PatchLabels({{"nvidia.com/gpu.count", "8"}},
                  {.labels = {{"nvidia.com/gpu.count", "80"}},
                   .annotations = {{"tessera.dev/owned-labels", "nvidia.com/gpu.count"}}});

  EXPECT_EQ(Text(patch), R"({"metadata":{"labels":{"nvidia.com/gpu.count":"8"}}})");
}

TEST(NodeLabels, AfterAnUninstallNothingOfOursIsLeftAndAllOfOthersIs) {
  const NodePatch patch = PatchWithoutLabels(
      {.labels = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.deploy.dcgm", "true"}},
       .annotations = {{"tessera.dev/owned-labels", "nvidia.com/gpu.count"}, {"other", "x"}}});

  EXPECT_EQ(Text(patch), R"({"metadata":{"labels":{"nvidia.com/gpu.count":null},)"
                         R"("annotations":{"tessera.dev/owned-labels":null}}})");
  EXPECT_EQ(Text(PatchWithoutLabels({.labels = {{"nvidia.com/gpu.count", "8"}}})), "");
}

}  // namespace
}  // namespace tessera
