// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mps/status.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "backend/nvidia/core/condition.h"
#include "base/text.h"
#include "json/json.h"

namespace tessera::nvidia {
namespace {

constexpr std::array kStates = {MpsState::kDown, MpsState::kReady, MpsState::kSilent};

int64_t Count(Steady time) {
  return time.time_since_epoch().count();
}

Steady TimeOf(const json::Object& object, std::string_view key) {
  return Steady(Duration(json::GetInt(object, key).value_or(0)));
}

int SmallInt(int64_t value) {
  return static_cast<int>(std::clamp<int64_t>(value, 0, std::numeric_limits<int>::max()));
}

Evidence Out(EvidenceKind kind, Reason reason, std::string detail) {
  return FromCheck(kind, reason, std::move(detail));
}

}  // namespace

std::string_view MpsStateName(MpsState state) {
  switch (state) {
    case MpsState::kDown:
      return "down";
    case MpsState::kReady:
      return "ready";
    case MpsState::kSilent:
      return "silent";
  }
  return "";
}

std::string MpsStatusText(const MpsStatus& status) {
  json::Object served;
  for (const auto& [gpu, memory] : status.served) served[gpu] = memory;
  json::Object refused;
  for (const auto& [device, why] : status.refused) refused[device] = why;
  return json::WritePretty(json::Object{{"state", MpsStateName(status.state)},
                                        {"detail", status.detail},
                                        {"pid", status.pid},
                                        {"boot", status.boot},
                                        {"answered", Count(status.answered)},
                                        {"next", Count(status.next)},
                                        {"threads", status.threads},
                                        {"served", std::move(served)},
                                        {"refused", std::move(refused)}});
}

Result<MpsStatus> ParseMpsStatus(std::string_view text) {
  const Result<json::Value> value = json::Parse(text);
  if (!value || !value->is_object()) return Fail(Reason::kStateCorrupt, "it is not a JSON object");
  const json::Object& object = value->get_object();
  const std::string name = json::GetString(object, "state").value_or("");
  const auto* state = std::ranges::find(kStates, name, MpsStateName);
  if (state == kStates.end()) return Fail(Reason::kStateCorrupt, "its state is unknown");
  MpsStatus status{.state = *state,
                   .detail = json::GetString(object, "detail").value_or(""),
                   .pid = SmallInt(json::GetInt(object, "pid").value_or(0)),
                   .boot = json::GetString(object, "boot").value_or(""),
                   .answered = TimeOf(object, "answered"),
                   .next = TimeOf(object, "next"),
                   .threads = SmallInt(json::GetInt(object, "threads").value_or(0))};
  if (const json::Object* served = json::GetObject(object, "served")) {
    for (const auto& [gpu, memory] : *served) {
      status.served[gpu] = SmallInt(json::GetInt(*served, gpu).value_or(0));
    }
  }
  if (const json::Object* refused = json::GetObject(object, "refused")) {
    for (const auto& [device, why] : *refused) {
      status.refused[device] = json::GetString(*refused, device).value_or("");
    }
  }
  return status;
}

std::optional<Evidence> MpsTrouble(const Result<MpsStatus>& status, std::string_view boot,
                                   Steady now, const std::string& device) {
  constexpr auto kFatal = EvidenceKind::kFatal;
  if (!status || status->boot != boot) {
    const bool absent = status || status.error().reason == Reason::kNotFound;
    return Out(kFatal, Reason::kMpsDown,
               absent ? "MPS was not started: 'tessera mps' has written no status"
                      : "the status from 'tessera mps' cannot be read: " + status.error().message);
  }
  if (const auto refused = status->refused.find(device); refused != status->refused.end()) {
    return Out(kFatal, Reason::kMpsUnfit, refused->second);
  }
  if (status->state == MpsState::kDown) {
    return Out(kFatal, Reason::kMpsDown, "the MPS control daemon is down: " + status->detail);
  }
  // The agent counts these like any unknown check.
  if (now > status->next) {
    return Out(EvidenceKind::kUnknown, Reason::kMpsDown,
               fmt::format("'tessera mps' has not updated its status for {}",
                           MeasuredText(now - status->answered)));
  }
  if (status->state == MpsState::kSilent) {
    return Out(EvidenceKind::kBad, Reason::kMpsDown, status->detail);
  }
  if (!status->served.contains(device)) {
    return Out(kFatal, Reason::kMpsDown, "the running MPS control daemon does not serve it");
  }
  return std::nullopt;
}

}  // namespace tessera::nvidia
