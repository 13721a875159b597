// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/file/file_config.h"
#include "config/told_test.h"

namespace tessera::file {
namespace {

using namespace config;  // the words of its keys

TEST(FilesKind, FilesMayBeGivenShort) {
  const Config config = Good("resources: [{name: a.com/tty, files: {paths: [/dev/a*, /dev/b]}}]\n");
  FileConfig expected;
  expected.groups = {{{{.pattern = "/dev/a*"}}}, {{{.pattern = "/dev/b"}}}};
  EXPECT_EQ(*config.resources[0].kind.As<FileConfig>(), expected);
  EXPECT_EQ(config.resources[0].rendering.env, "");
}

TEST(FilesKind, FilesMayBeGivenInGroups) {
  const Config config = Good(
      "resources:\n"
      "- name: a.com/rig\n"
      "  files:\n"
      "    groups:\n"
      "    - paths:\n"
      "      - {path: /dev/video*, permissions: rwm, containerPath: /dev/video}\n"
      "      - {path: /etc/rig, mount: true, readOnly: false, optional: true}\n");
  FileConfig expected;
  expected.groups = {
      {{{.pattern = "/dev/video*", .container_path = "/dev/video", .permissions = "rwm"},
        {.pattern = "/etc/rig", .mount = true, .read_only = false, .optional = true}}}};
  EXPECT_EQ(*config.resources[0].kind.As<FileConfig>(), expected);
}

const BadInput kBadInputs[] = {
    {"FilesAreNone",
     "resources:\n"
     "- {name: a.com/b, files: }\n",
     "t.yaml:3:19: resources[0].files needs at least one path or group [config-missing]\n"
     "- {name: a.com/b, files: }\n"
     "                  ^\n"},
    {"AGroupIsEmpty",
     "resources:\n"
     "- name: a.com/b\n"
     "  files: {groups: [{paths: []}, {}]}\n",
     "t.yaml:4:28: resources[0].files.groups[0].paths needs at least one path that is not optional "
     "[config-bad-value]\n"
     "  files: {groups: [{paths: []}, {}]}\n"
     "                           ^\n"
     "t.yaml:4:33: resources[0].files.groups[1] needs the key 'paths' [config-missing]\n"
     "  files: {groups: [{paths: []}, {}]}\n"
     "                                ^\n"},
    {"AGroupIsAllOptional",
     "resources:\n"
     "- name: a.com/b\n"
     "  files: {groups: [{paths: [{path: /a, optional: true}]}]}\n",
     "t.yaml:4:28: resources[0].files.groups[0].paths needs at least one path that is not optional "
     "[config-bad-value]\n"
     "  files: {groups: [{paths: [{path: /a, optional: true}]}]}\n"
     "                           ^\n"},
    {"AShortPathIsRelative",
     "resources:\n"
     "- name: a.com/b\n"
     "  files: {paths: [/dev/a, dev/b]}\n",
     "t.yaml:4:27: resources[0].files.groups[1].paths[0].path must be an absolute path, not "
     "'dev/b' [config-bad-value]\n"
     "  files: {paths: [/dev/a, dev/b]}\n"
     "                          ^\n"},
    {"ShortPathsAreNoList",
     "resources:\n"
     "- name: a.com/b\n"
     "  files: {paths: /dev/a}\n",
     "t.yaml:4:18: resources[0].files.paths takes a list of absolute paths, not '/dev/a' "
     "[config-wrong-type]\n"
     "  files: {paths: /dev/a}\n"
     "                 ^\n"},
};

using FilesKindErrors = BadInputTest;

TEST_P(FilesKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, FilesKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::file
