// SPDX-License-Identifier: Apache-2.0
#include "agent/control_request.h"

#include "base/text.h"
#include "json/json.h"

namespace tessera::agent {
namespace {

std::string Text(const json::Object& order, std::string_view key) {
  return json::GetString(order, key).value_or("");
}

Result<Order> ReadCordon(const json::Object& order, bool on) {
  CordonOrder cordon{on, Text(order, "device"), Text(order, "reason")};
  if (on && cordon.reason.empty()) {
    return Fail(Reason::kInvalid, "a cordon needs a reason");
  }
  return cordon;
}

Result<Order> ReadRelease(const json::Object& order) {
  if (json::GetBool(order, "end").value_or(false)) return ReleaseOrder{};
  const std::string text = Text(order, "for");
  const auto time = ParseDuration(text);
  if (!time) return Fail(Reason::kInvalid, "\"{}\" is not a time such as 10m", text);
  return ReleaseOrder{time};
}

}  // namespace

Result<Order> ReadOrder(std::string_view path, std::string_view body) {
  const json::Value value = TRY(json::Parse(body));
  if (!value.is_object()) return Fail(Reason::kInvalid, "the body must be a JSON object");
  const json::Object& order = value.get_object();
  if (path == "/cordon") return ReadCordon(order, true);
  if (path == "/uncordon") return ReadCordon(order, false);
  if (path == "/was-reset") return ResetOrder{Text(order, "device")};
  if (path == "/release") return ReadRelease(order);
  return Fail(Reason::kNotFound, "there is no order {}", path);
}

}  // namespace tessera::agent
