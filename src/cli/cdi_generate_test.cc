// SPDX-License-Identifier: Apache-2.0
#include "cli/cdi_generate.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

config::Config Configured(const std::string& resources) {
  const config::LoadResult result = config::Load(
      FullSchema(),
      {.file = config::Document::Parse("t.yaml", "version: tessera/v1\nresources:\n" + resources)});
  EXPECT_EQ(config::Text(result.errors), "");
  return result.config;
}

TEST(GenerateCdi, IsADocumentForEachKind) {
  const auto documents = GenerateCdi(
      Configured("- {name: a.com/npu, env: NPU, strategies: [cdi-cri], cdi: {kind: a.com/npu},\n"
                 "   dummy: {count: 1, nodes: [{hostPath: /dev/null, containerPath: /dev/npu}]}}\n"
                 "- {name: a.com/other, dummy: {count: 1}}\n"));
  ASSERT_TRUE(documents);
  EXPECT_EQ(
      *documents,
      (std::vector<cdi::Document>{{.kind = "a.com/npu",
                                   .devices = {{.name = "0",
                                                .edits = {.env = {"NPU_0=0"},
                                                          .nodes = {{.path = "/dev/npu",
                                                                     .host_path = "/dev/null",
                                                                     .type = "c",
                                                                     .major = 1,
                                                                     .minor = 3,
                                                                     .file_mode = 0666,
                                                                     .permissions = "rw"}}}}}}}));
}

TEST(GenerateCdi, ThereIsNoneWhereNoResourceUsesIt) {
  EXPECT_EQ(GenerateCdi(Configured("- {name: a.com/npu, dummy: {count: 1}}\n")).value(),
            std::vector<cdi::Document>{});
}

}  // namespace
}  // namespace tessera::cli
