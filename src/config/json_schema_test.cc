// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "config/reference.h"
#include "config/schema.h"
#include "json/json.h"
#include "kinds/kinds.h"

namespace tessera::config {
namespace {

const json::Object& Properties(const json::Object& schema) {
  return *json::GetObject(schema, "properties");
}

TEST(JsonSchema, EveryKeyIsThere) {
  const json::Value whole = *json::Parse(JsonSchema(FullSchema()));
  for (const PathKey& key : FullSchema().keys()) {
    const json::Object* at = &whole.as_object();
    std::string_view rest = key.path;
    while (at != nullptr && !rest.empty()) {
      const size_t dot = rest.find('.');
      std::string_view part = rest.substr(0, dot);
      rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
      const bool is_list = part.ends_with("[]");
      if (is_list) part.remove_suffix(2);
      at = json::GetObject(Properties(*at), part);
      if (at != nullptr && is_list) at = json::GetObject(*at, "items");
    }
    ASSERT_NE(at, nullptr) << key.path;
    EXPECT_EQ(json::GetString(*at, "description"), key.key->doc) << key.path;
  }
}

TEST(JsonSchema, AResourceIsOfOneKind) {
  const json::Value whole = *json::Parse(JsonSchema(FullSchema()));
  const json::Object& resources = *json::GetObject(Properties(whole.as_object()), "resources");
  const json::Object& item = *json::GetObject(resources, "items");
  EXPECT_EQ(
      json::Write(item.at("oneOf")),
      R"([{"required":["dummy"]},{"required":["files"]},{"required":["nvidia"]},{"required":["amd"]},{"required":["ascend"]},{"required":["rdma"]},{"required":["fpga"]},{"required":["pair"]}])");
  EXPECT_EQ(json::Write(item.at("required")), R"(["name"])");
}

TEST(JsonSchema, NumbersHaveTheirRange) {
  const json::Value whole = *json::Parse(JsonSchema(FullSchema()));
  const json::Object& health = *json::GetObject(Properties(whole.as_object()), "health");
  EXPECT_EQ(json::Write(Properties(health).at("failures")),
            R"({"type":"integer","minimum":1,"maximum":100,"description":"The number of bad )"
            R"(checks within `window` that makes a device unhealthy.","default":3})");
  const json::Object& resources = *json::GetObject(Properties(whole.as_object()), "resources");
  const json::Object& nvidia =
      *json::GetObject(Properties(*json::GetObject(resources, "items")), "nvidia");
  const json::Object& vgpu = *json::GetObject(Properties(nvidia), "vgpu");
  EXPECT_EQ(
      json::WritePretty(Properties(vgpu).at("coreScaling")),
      "{\n"
      "  \"type\": \"number\",\n"
      "  \"exclusiveMinimum\": 0,\n"
      "  \"maximum\": 100,\n"
      "  \"description\": \"The factor for a GPU's compute time. Above 1, the node offers more "
      "than it has.\",\n"
      "  \"default\": 1\n"
      "}\n");
}

}  // namespace
}  // namespace tessera::config
