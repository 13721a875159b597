// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/select_config.h"

#include <gtest/gtest.h>

#include "config/told_test.h"

namespace tessera::nvidia {
namespace {

using namespace config;  // the words of its keys

TEST(SelectConfig, GpusAreChosenAndLeftOut) {
  const Config config = Good(
      "resources: [{name: nvidia.com/gpu, nvidia: {select: [{numa: 1}], exclude: [{index: 3}, "
      "{uuid: GPU-1}]}}]\n");
  const NvidiaConfig& nvidia = *config.resources[0].kind.As<NvidiaConfig>();
  EXPECT_EQ(nvidia.select, (std::vector<NvidiaConfig::Selector>{{.numa = "1"}}));
  EXPECT_EQ(nvidia.exclude,
            (std::vector<NvidiaConfig::Selector>{{.index = "3"}, {.uuid = "GPU-1"}}));
}

TEST(SelectConfig, WhatIsLeftOutIsALaterResourcesToHave) {
  const Config config = Good(
      "resources:\n"
      "- {name: a.com/gpu, nvidia: {exclude: [{index: 3}]}}\n"
      "- {name: b.com/gpu, nvidia: {}}\n");
  EXPECT_EQ(config.resources[1].kind.As<NvidiaConfig>()->earlier,
            (std::vector<NvidiaConfig::Claim>{{.exclude = {{.index = "3"}}}}));
}

TEST(SelectConfig, AnItemWithoutAWordIsRefused) {
  EXPECT_EQ(
      config::Told("resources: [{name: nvidia.com/gpu, nvidia: {exclude: [{}, {index: x}]}}]\n"),
      "t.yaml:2:55: resources[0].nvidia.exclude[0] needs one of 'index', 'uuid', 'model' and "
      "'numa' [config-missing]\n"
      "resources: [{name: nvidia.com/gpu, nvidia: {exclude: [{}, {index: x}]}}]\n"
      "                                                      ^\n"
      "t.yaml:2:67: resources[0].nvidia.exclude[1].index must be a GPU's index, a number, "
      "not 'x' [config-bad-value]\n"
      "resources: [{name: nvidia.com/gpu, nvidia: {exclude: [{}, {index: x}]}}]\n"
      "                                                                  ^\n");
}

}  // namespace
}  // namespace tessera::nvidia
