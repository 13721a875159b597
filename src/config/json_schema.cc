// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "config/reference.h"
#include "config/schema.h"
#include "json/json.h"

namespace tessera::config {
namespace {

json::Object SectionSchema(const Schema& table, const Key& section);

json::Array Texts(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::string PathPattern(const Schema& table, const Key& key) {
  return key.required || !table.DefaultText(key).empty() ? "^/" : "^(/|$)";
}

void AddList(const Schema& table, const Key& key, json::Object& schema) {
  json::Object items;
  if (key.type == Type::kEnumList) {
    items["enum"] = Texts(key.values);
  } else if (key.type == Type::kPathList) {
    items["type"] = "string";
    items["pattern"] = "^/";
  } else {
    items = SectionSchema(table, key);
  }
  schema["type"] = "array";
  schema["items"] = std::move(items);
  if (key.type == Type::kList) schema["maxItems"] = key.max;
}

void AddType(const Schema& table, const Key& key, json::Object& schema) {
  switch (key.type) {
    case Type::kBool:
      schema["type"] = "boolean";
      break;
    case Type::kInt:
      schema["type"] = "integer";
      schema["minimum"] = key.min;
      schema["maximum"] = key.max;
      break;
    case Type::kDecimal:
      schema["type"] = "number";
      schema["exclusiveMinimum"] = key.min;
      schema["maximum"] = key.max;
      break;
    case Type::kTime:
      schema["type"] = "string";
      schema["pattern"] = "^[0-9]+(ms|s|m|h)$";
      break;
    case Type::kEnum:
      schema["enum"] = Texts(key.values);
      break;
    case Type::kPath:
      schema["type"] = "string";
      schema["pattern"] = PathPattern(table, key);
      break;
    case Type::kText:
      schema["type"] = "string";
      break;
    case Type::kSection:
      schema = SectionSchema(table, key);
      break;
    case Type::kList:
    case Type::kEnumList:
    case Type::kPathList:
      AddList(table, key, schema);
      break;
  }
}

void AddDefault(const Schema& table, const Key& key, json::Object& schema) {
  const std::string text = table.DefaultText(key);
  if (!key.IsScalar() || key.required || !key.default_note.empty()) return;
  if (key.type == Type::kBool) {
    schema["default"] = text == "true";
  } else if (key.type == Type::kInt) {
    schema["default"] = std::stoll(text);
  } else if (key.type == Type::kDecimal) {
    schema["default"] = std::stod(text);
  } else if (key.type != Type::kEnumList) {
    schema["default"] = text;
  }
}

json::Object KeySchema(const Schema& table, const Key& key) {
  json::Object schema;
  AddType(table, key, schema);
  schema["description"] = key.doc;
  AddDefault(table, key, schema);
  return schema;
}

json::Object SectionSchema(const Schema& table, const Key& section) {
  json::Object schema;
  schema["type"] = "object";
  json::Object properties;
  json::Array required;
  json::Array choices;
  for (const Key& key : section.children) {
    properties[key.name] = KeySchema(table, key);
    if (key.required) required.emplace_back(key.name);
    if (key.choice.choose)
      choices.push_back(json::Object{{"required", json::Array{json::Value(key.name)}}});
  }
  schema["properties"] = std::move(properties);
  schema["additionalProperties"] = false;
  if (!required.empty()) schema["required"] = std::move(required);
  if (!choices.empty()) schema["oneOf"] = std::move(choices);
  return schema;
}

}  // namespace

std::string JsonSchema(const Schema& table) {
  json::Object schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = fmt::format("Configuration of Tessera, {}", kVersion);
  for (auto& [key, value] : SectionSchema(table, table.root())) schema[key] = std::move(value);
  return json::WritePretty(schema);
}

}  // namespace tessera::config
