// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "grant/cdi_document.h"

namespace tessera::cdi {
namespace {

// A document with these common edits.
std::string With(const std::string& edits, const std::string& version = "0.7.0") {
  return fmt::format(R"({{"cdiVersion": "{}", "kind": "ab.com/gpu", "devices": [)"
                     R"({{"name": "a", "containerEdits": {{"env": ["A=1"]}}}}],)"
                     R"("containerEdits": {}}})",
                     version, edits);
}

std::string Refusal(const std::string& text) {
  const auto document = Read(text);
  return document ? "" : document.error().message;
}

TEST(CdiReader, ReadsWhatTheFormatHas) {
  const auto document =
      Read(R"({"cdiVersion": "0.6.0", "kind": "ab.com/gpu", "annotations": {"a": "b"},)"
           R"("devices": [{"name": "0", "annotations": {}, "containerEdits": {)"
           R"("deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b", "type": "c", "major": 1,)"
           R"("minor": 2, "fileMode": 438, "permissions": "rw", "uid": 1, "gid": 2}],)"
           R"("mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"]}]}}],)"
           R"("containerEdits": {"env": ["A=1"], "hooks": [{"hookName": "prestart",)"
           R"("path": "/h", "args": ["h"], "timeout": 1}]}})");
  EXPECT_EQ(document.value(),
            (Document{.kind = "ab.com/gpu",
                      .devices = {{.name = "0",
                                   .edits = {.nodes = {{.path = "/dev/a",
                                                        .host_path = "/dev/b",
                                                        .type = "c",
                                                        .major = 1,
                                                        .minor = 2,
                                                        .file_mode = 438,
                                                        .permissions = "rw",
                                                        .uid = 1,
                                                        .gid = 2}},
                                             .mounts = {{"/a", "/b", {"ro"}, ""}}}}},
                      .edits = {.env = {"A=1"}, .hooks = {{"prestart", "/h", {"h"}, {}, 1}}}}));
}

TEST(CdiReader, RefusesWhatRuntimesRefuse) {
  struct Row {
    std::string text;
    std::string refusal;
  };
  const std::string device = R"({"name": "a", "containerEdits": {"env": ["A=1"]}})";
  const auto whole = [](const std::string& kind, const std::string& devices) {
    return fmt::format(R"({{"cdiVersion": "0.3.0", "kind": "{}", "devices": [{}]}})", kind,
                       devices);
  };
  const Row rows[] = {
      {"[]", "the document is not a map"},
      {whole("ab/cd", ""), "it has no devices"},
      {whole("ab/c", device),
       "kind ab/c is not vendor/class with at least two characters each; containerd crashes on "
       "one"},
      {whole("ab/cd", device + "," + device), "two devices are named a"},
      {whole("ab/cd", R"({"name": "a-", "containerEdits": {"env": ["A=1"]}})"),
       "devices[0].name a- is not a device's name"},
      {whole("ab/cd", R"({"name": "a", "containerEdits": {}})"),
       "devices[0].containerEdits is empty"},
      {whole("ab/cd", R"({"name": "0", "containerEdits": {"env": ["A=1"]}})"),
       "cdiVersion is 0.3.0, but the document's fields need 0.5.0"},
      {With("{}", "2.0.0"), "cdiVersion 2.0.0 is unknown"},
      {With(R"({"additionalGids": [1]})", "0.6.0"),
       "cdiVersion is 0.6.0, but the document's fields need 0.7.0"},
      {With(R"({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]})"),
       "cdiVersion is 0.7.0, but the document's fields need 1.1.0"},
      {With(R"({"environment": []})"), "containerEdits has no field environment"},
      {With(R"({"env": ["A"]})"), "containerEdits.env has A, which is not NAME=VALUE"},
      {With(R"({"env": "A=1"})"), "containerEdits.env is not a list"},
      {With(R"({"deviceNodes": [{"type": "c"}]})"),
       "containerEdits.deviceNodes[0].path is missing"},
      {With(R"({"deviceNodes": [{"path": "/a", "type": "x"}]})"),
       "containerEdits.deviceNodes[0].type is x, not one of b, c, p and u"},
      {With(R"({"deviceNodes": [{"path": "/a", "permissions": "rwx"}]})"),
       "containerEdits.deviceNodes[0].permissions is rwx, not letters of rwm"},
      {With(R"({"deviceNodes": [{"path": "/a", "fileMode": "0666"}]})"),
       "containerEdits.deviceNodes[0].fileMode is not a number in the valid range"},
      {With(R"({"mounts": [{"hostPath": "/a"}]})"),
       "containerEdits.mounts[0].containerPath is missing"},
      {With(R"({"hooks": [{"hookName": "later", "path": "/a"}]})"),
       "containerEdits.hooks[0].hookName later is not a hook's name"},
  };
  for (const Row& row : rows) EXPECT_EQ(Refusal(row.text), row.refusal) << row.text;
  EXPECT_EQ(Refusal(With("{}")), "");
  EXPECT_EQ(Refusal("{").substr(0, 1).empty(), false);
}

}  // namespace
}  // namespace tessera::cdi
