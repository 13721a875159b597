// SPDX-License-Identifier: Apache-2.0
#include "grant/cdi_document.h"

#include <gtest/gtest.h>

namespace tessera::cdi {
namespace {

Node NodeAt(const std::string& path) {
  return {.path = path, .type = "c", .major = 195, .minor = 0, .file_mode = 0666};
}
Mount MountAt(const std::string& path) {
  return {.host_path = "/host" + path, .container_path = path, .options = {"ro"}};
}

TEST(CdiText, SaysAllThatTheDocumentHas) {
  const Document document = {
      .kind = "ab.c/gpu",
      .devices = {{.name = "gpu0",
                   .edits = {.env = {"A=1"},
                             .nodes = {{.path = "/dev/a",
                                        .host_path = "/host/dev/a",
                                        .type = "c",
                                        .major = 195,
                                        .minor = 3,
                                        .file_mode = 0660,
                                        .permissions = "rwm",
                                        .gid = 44}},
                             .additional_gids = {44}}}},
      .edits = {.mounts = {{"/host/lib", "/lib", {"ro", "rbind"}, "bind"}},
                .hooks = {{"createContainer", "/usr/bin/hook", {"hook", "x"}, {"B=2"}, 5}}}};
  EXPECT_EQ(Text(document), R"({
  "cdiVersion": "0.7.0",
  "kind": "ab.c/gpu",
  "devices": [
    {
      "name": "gpu0",
      "containerEdits": {
        "env": [
          "A=1"
        ],
        "deviceNodes": [
          {
            "path": "/dev/a",
            "hostPath": "/host/dev/a",
            "type": "c",
            "major": 195,
            "minor": 3,
            "fileMode": 432,
            "permissions": "rwm",
            "gid": 44
          }
        ],
        "additionalGids": [
          44
        ]
      }
    }
  ],
  "containerEdits": {
    "mounts": [
      {
        "hostPath": "/host/lib",
        "containerPath": "/lib",
        "options": [
          "ro",
          "rbind"
        ],
        "type": "bind"
      }
    ],
    "hooks": [
      {
        "hookName": "createContainer",
        "path": "/usr/bin/hook",
        "args": [
          "hook",
          "x"
        ],
        "env": [
          "B=2"
        ],
        "timeout": 5
      }
    ]
  }
}
)");
  EXPECT_EQ(Read(Text(document)).value(), document);
}

TEST(CdiVersion, IsTheLowestThatHasWhatIsUsed) {
  const auto with = [](Edits edits) {
    return Version({.kind = "ab/cd", .devices = {{.name = "x", .edits = std::move(edits)}}});
  };
  EXPECT_EQ(with({.env = {"A=1"}}), "0.3.0");
  EXPECT_EQ(with({.mounts = {{"/a", "/a", {}, "bind"}}}), "0.4.0");
  EXPECT_EQ(with({.nodes = {{.path = "/a", .host_path = "/a"}}}), "0.3.0");
  EXPECT_EQ(with({.nodes = {{.path = "/a", .host_path = "/b"}}}), "0.5.0");
  EXPECT_EQ(with({.additional_gids = {1}}), "0.7.0");
  EXPECT_EQ(Version({.kind = "ab/cd", .devices = {{.name = "0"}}}), "0.5.0");
  EXPECT_EQ(Version({.kind = "ab/c.d", .devices = {{.name = "x"}}}), "0.6.0");
  EXPECT_EQ(Version({.kind = "a.b/cd", .devices = {{.name = "x"}}}), "0.3.0");
}

TEST(CdiSort, PutsWhatIsDeeperBehind) {
  Edits edits = {.nodes = {NodeAt("/dev/dri/card0"), NodeAt("/dev/b"), NodeAt("/dev/a")},
                 .mounts = {MountAt("/a/b/c"), MountAt("/z"), MountAt("/a/b")}};
  Sort(edits);
  EXPECT_EQ(edits, (Edits{.nodes = {NodeAt("/dev/a"), NodeAt("/dev/b"), NodeAt("/dev/dri/card0")},
                          .mounts = {MountAt("/z"), MountAt("/a/b"), MountAt("/a/b/c")}}));
}

TEST(CdiTidy, LeavesOutWhatStandsThereTwiceOrIsEmpty) {
  const Document tidy =
      Tidy({.kind = "ab/cd",
            .devices = {{.name = "gpu10", .edits = {.nodes = {NodeAt("/dev/x"), NodeAt("/dev/x")}}},
                        {.name = "gpu9", .edits = {.env = {"A=1"}, .nodes = {NodeAt("/dev/ctl")}}},
                        {.name = "only-common", .edits = {.nodes = {NodeAt("/dev/ctl")}}},
                        {.name = "nothing"}},
            .edits = {.nodes = {NodeAt("/dev/ctl"), NodeAt("/dev/ctl")}}});
  EXPECT_EQ(
      tidy,
      (Document{.kind = "ab/cd",
                .devices = {{.name = "gpu10", .edits = {.nodes = {NodeAt("/dev/x")}}},
                            {.name = "gpu9", .edits = {.env = {"A=1"}}},
                            {.name = "only-common", .edits = {.nodes = {NodeAt("/dev/ctl")}}}},
                .edits = {.nodes = {NodeAt("/dev/ctl")}}}));
}

TEST(CdiTidy, KeepsTheOrder) {
  const Document tidy = Tidy(
      {.kind = "ab/cd",
       .edits = {.env = {"B=1", "A=1", "B=1"}, .nodes = {NodeAt("/dev/z"), NodeAt("/dev/a")}}});
  EXPECT_EQ(tidy.edits.env, (std::vector<std::string>{"B=1", "A=1"}));
  EXPECT_EQ(tidy.edits.nodes, (std::vector{NodeAt("/dev/z"), NodeAt("/dev/a")}));
}

TEST(CdiMerge, HasAllDevicesAndTheLastCommonEdits) {
  const Edits before = {.mounts = {MountAt("/lib/x.so.1")}};
  const Edits after = {.mounts = {MountAt("/lib/x.so.2")}};
  const Edits a = {.env = {"A=1"}};
  const Edits b = {.env = {"B=1"}};
  const Document first = {.kind = "ab/cd",
                          .devices = {{.name = "gone", .edits = a, .present = false},
                                      {.name = "here", .edits = a},
                                      {.name = "first", .edits = a}},
                          .edits = before};
  const Document second = {
      .kind = "ab/cd",
      .devices = {{.name = "gone", .edits = b}, {.name = "here", .edits = b, .present = false}},
      .edits = after};
  const Document third = {.kind = "ab/cd", .devices = {{.name = "third", .edits = b}}};
  EXPECT_EQ(Merge({&first, &second, &third}), (Document{.kind = "ab/cd",
                                                        .devices = {{.name = "first", .edits = a},
                                                                    {.name = "gone", .edits = b},
                                                                    {.name = "here", .edits = a},
                                                                    {.name = "third", .edits = b}},
                                                        .edits = after}));
}

}  // namespace
}  // namespace tessera::cdi
