// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/agent_calls.h"

#include "http/blocking.h"
#include "http/http.h"
#include "json/json.h"

namespace tessera::demo {
namespace {

// An order may make the agent check its devices first; a question is answered from memory.
constexpr Duration kOrderTimeout{5'000};
constexpr Duration kQuestionTimeout{500};

Status Tell(const std::string& socket, const std::string& path, const json::Object& body) {
  TRY(http::CallUnix(socket, {"POST", path, {}, json::Write(body)}, kOrderTimeout));
  return {};
}

Result<std::string> Ask(const std::string& socket, const std::string& path) {
  return TRY(http::CallUnix(socket, {"GET", path, {}, ""}, kQuestionTimeout)).body;
}

std::string TextIn(const json::Object& object, std::string_view key) {
  return json::GetString(object, key).value_or("");
}

// The objects in the list under `key` of the document.
Result<std::vector<json::Object>> ObjectsIn(std::string_view text, std::string_view key) {
  const json::Value value = TRY(json::Parse(text));
  const json::Array* list = value.is_object() ? json::GetArray(value.get_object(), key) : nullptr;
  if (list == nullptr) return Fail(Reason::kInvalid, "the agent's answer has no list '{}'", key);
  std::vector<json::Object> objects;
  for (const json::Value& item : *list) {
    if (item.is_object()) objects.push_back(item.get_object());
  }
  return objects;
}

}  // namespace

Status CallCordon(const std::string& socket, const SetCordon& cordon) {
  json::Object body = {{"device", cordon.resource + "/" + cordon.device}};
  if (cordon.out) body["reason"] = cordon.reason;
  return Tell(socket, cordon.out ? "/cordon" : "/uncordon", body);
}

Result<std::vector<Holding>> CallLedger(const std::string& socket) {
  return ReadLedger(TRY(Ask(socket, "/ledger")));
}

Result<Judgements> CallInventory(const std::string& socket) {
  return ReadInventory(TRY(Ask(socket, "/inventory")));
}

Result<std::vector<Holding>> ReadLedger(std::string_view text) {
  std::vector<Holding> holdings;
  for (const json::Object& object : TRY(ObjectsIn(text, "holdings"))) {
    Holding holding{.pod_namespace = TextIn(object, "namespace"),
                    .pod = TextIn(object, "pod"),
                    .pod_uid = TextIn(object, "uid"),
                    .container = TextIn(object, "container"),
                    .resource = TextIn(object, "resource"),
                    .share_ids = {}};
    if (const json::Array* shares = json::GetArray(object, "shares")) {
      for (const json::Value& share : *shares) {
        if (share.is_string()) holding.share_ids.emplace_back(share.get_string());
      }
    }
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

Result<Judgements> ReadInventory(std::string_view text) {
  Judgements judgements;
  for (const json::Object& object : TRY(ObjectsIn(text, "devices"))) {
    judgements[{TextIn(object, "source"), TextIn(object, "id")}] = {
        .state = TextIn(object, "state"),
        .reason = TextIn(object, "reason"),
        .cordoned = json::GetObject(object, "cordon") != nullptr};
  }
  return judgements;
}

}  // namespace tessera::demo
