// SPDX-License-Identifier: Apache-2.0
#include "health/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace tessera {
namespace {

// The number of falls beyond the flapping limit that double the hold. More doublings would exceed
// any limit.
constexpr size_t kDoublings = 16;

constexpr std::array kStates = {HealthState::kUnverified, HealthState::kHealthy,
                                HealthState::kSuspect, HealthState::kUnhealthy,
                                HealthState::kRecovering};

constexpr std::array<std::string_view, 3> kRemedies = {"none", "reset", "reboot"};

size_t AtLeastOne(int n) {
  return static_cast<size_t>(std::max(n, 1));
}

// At most kDetailLimit bytes, cut between characters.
std::string Shortened(std::string_view text) {
  size_t end = std::min(text.size(), kDetailLimit);
  while (end < text.size() && end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

// Drops times that are `span` or older, and the oldest ones beyond `limit`.
void Prune(std::vector<Steady>& times, Duration span, size_t limit, Steady now) {
  std::erase_if(times, [&](Steady time) { return now - time >= span; });
  if (times.size() > limit) {
    times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(limit));
  }
}

void Enter(Verdict& verdict, HealthState state, Steady now) {
  if (verdict.state != state) verdict.since = now;
  verdict.state = state;
}

bool IsFlapping(const Verdict& verdict, const HealthPolicy& policy) {
  return policy.flaps > 0 && verdict.falls.size() >= static_cast<size_t>(policy.flaps);
}

// How long a device stays out after this many falls.
Duration Hold(const Verdict& verdict, const HealthPolicy& policy) {
  const size_t doublings = verdict.falls.size() - static_cast<size_t>(policy.flaps);
  Duration hold = policy.hold;
  for (size_t i = 0; i < doublings && hold < policy.hold_limit; ++i) hold *= 2;
  return std::min(hold, policy.hold_limit);
}

void Explain(Verdict& verdict, const Evidence& evidence, const HealthPolicy& policy, Steady now) {
  if (now >= verdict.held_until || verdict.offered() || !IsFlapping(verdict, policy)) {
    verdict.reason = evidence.reason;
    verdict.detail = Shortened(evidence.detail);
    return;
  }
  const std::string_view last =
      evidence.detail.empty() ? ReasonName(evidence.reason) : std::string_view(evidence.detail);
  verdict.reason = Reason::kFlapping;
  verdict.detail = Shortened(fmt::format("held out after {} or more falls within {}; last: {}",
                                         policy.flaps, FormatDuration(policy.flap_window), last));
}

void Fall(Verdict& verdict, const HealthPolicy& policy, Steady now) {
  if (verdict.offered()) {
    verdict.falls.push_back(now);
    Prune(verdict.falls, policy.flap_window, AtLeastOne(policy.flaps) + kDoublings, now);
    if (IsFlapping(verdict, policy)) verdict.held_until = now + Hold(verdict, policy);
  }
  Enter(verdict, HealthState::kUnhealthy, now);
}

void JudgeBad(Verdict& verdict, const Evidence& evidence, const HealthPolicy& policy, Steady now) {
  const size_t enough = AtLeastOne(policy.failures);
  verdict.passes = 0;
  verdict.failures.push_back(now);
  Prune(verdict.failures, policy.window, enough, now);
  if (evidence.kind != EvidenceKind::kFatal && verdict.offered() &&
      verdict.failures.size() < enough) {
    Enter(verdict, HealthState::kSuspect, now);
  } else {
    Fall(verdict, policy, now);
  }
  if (evidence.kind == EvidenceKind::kFatal) {
    verdict.remedy = std::max(verdict.remedy, evidence.remedy);
    verdict.held_until = std::max(verdict.held_until, now + evidence.probation);
  }
  Explain(verdict, evidence, policy, now);
}

bool HasRecovered(const Verdict& verdict, const HealthPolicy& policy, Steady now) {
  return verdict.passes >= policy.passes && now - verdict.since >= policy.recovery &&
         now >= verdict.held_until;
}

void JudgeGood(Verdict& verdict, const HealthPolicy& policy, Steady now) {
  if (verdict.remedy != Remedy::kNone) return;
  verdict.passes = std::min(verdict.passes + 1, std::max(policy.passes, 1));
  if (verdict.state == HealthState::kUnhealthy) Enter(verdict, HealthState::kRecovering, now);
  if (verdict.state == HealthState::kRecovering && !HasRecovered(verdict, policy, now)) return;
  Enter(verdict, HealthState::kHealthy, now);
  verdict.reason = Verdict().reason;
  verdict.detail.clear();
  verdict.held_until = Steady();
}

}  // namespace

std::string_view RemedyName(Remedy remedy) {
  return kRemedies[static_cast<size_t>(remedy)];
}

std::optional<Remedy> RemedyFromName(std::string_view name) {
  const auto* it = std::find(kRemedies.begin(), kRemedies.end(), name);
  if (it == kRemedies.end()) return std::nullopt;
  return static_cast<Remedy>(it - kRemedies.begin());
}

std::string_view HealthStateName(HealthState state) {
  switch (state) {
    case HealthState::kUnverified:
      return "unverified";
    case HealthState::kHealthy:
      return "healthy";
    case HealthState::kSuspect:
      return "suspect";
    case HealthState::kUnhealthy:
      return "unhealthy";
    case HealthState::kRecovering:
      return "recovering";
  }
  return "unverified";
}

std::optional<HealthState> HealthStateFromName(std::string_view name) {
  const auto* it = std::find_if(kStates.begin(), kStates.end(),
                                [&](HealthState state) { return HealthStateName(state) == name; });
  if (it == kStates.end()) return std::nullopt;
  return *it;
}

Verdict Judge(const Verdict& before, const Evidence& evidence, const HealthPolicy& policy,
              Steady now) {
  Verdict after = before;
  Prune(after.failures, policy.window, AtLeastOne(policy.failures), now);
  Prune(after.falls, policy.flap_window, AtLeastOne(policy.flaps) + kDoublings, now);
  if (evidence.kind == EvidenceKind::kGood) {
    JudgeGood(after, policy, now);
  } else if (evidence.kind == EvidenceKind::kReset) {
    if (after.remedy == Remedy::kReset) after.remedy = Remedy::kNone;
  } else {
    JudgeBad(after, evidence, policy, now);
  }
  return after;
}

}  // namespace tessera
