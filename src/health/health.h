// SPDX-License-Identifier: Apache-2.0
// The health of a device. Evidence from any source goes through one state machine, Judge. The
// verdict decides whether the device is offered to kubelet as Healthy. Pure; plain data; any
// thread.
//
//   unverified --good--> healthy --bad--> suspect --bad x n--> unhealthy --good--> recovering
//                           ^               |  \--good--> healthy    ^--bad----------/  |
//                           \----good x m, for long enough, not held---------------------/
//
// Fatal evidence leads from any state to unhealthy at once. So does bad evidence from unverified,
// because such a device is not offered. Fatal evidence may name a remedy: good evidence counts only
// after that.
//
// One good answer does not erase earlier bad ones: n bad answers within the window count, even with
// good ones between them. A fall is a step from an offered state (healthy, suspect) to unhealthy;
// kubelet and pods notice it. A recovery that fails starts over, and is no fall.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace tessera {

enum class EvidenceKind : uint8_t {
  kGood,     // a check passed
  kBad,      // a check failed: counts, until enough of them came within the window
  kFatal,    // the device is out, without a second opinion
  kUnknown,  // a check gave no answer: counts like kBad
  kReset,    // the device was reset: satisfies Remedy::kReset, says nothing of its health
};

enum class EvidenceSource : uint8_t { kCheck, kEvent, kScan, kCall };

// What must have happened before good evidence counts again. A stronger remedy is a greater value.
enum class Remedy : uint8_t {
  kNone,    // nothing: good answers for long enough
  kReset,   // a reset of the device
  kReboot,  // a reboot of the node; no verdict outlasts it
};
std::string_view RemedyName(Remedy remedy);  // "none", "reset", "reboot"
std::optional<Remedy> RemedyFromName(std::string_view name);

// One observation of a device, by a backend, the agent or a person.
struct Evidence {
  EvidenceKind kind = EvidenceKind::kUnknown;
  EvidenceSource source = EvidenceSource::kCheck;
  Reason reason = Reason::kCheckFailed;  // why it is not good; meaningless when kGood
  std::string detail;                    // particulars for people: "injected failure"
  // Only in fatal evidence: what must happen before the device can recover, and how long it stays
  // out whatever checks say.
  Remedy remedy = Remedy::kNone;
  Duration probation{0};
};

enum class HealthState : uint8_t { kUnverified, kHealthy, kSuspect, kUnhealthy, kRecovering };
std::string_view HealthStateName(HealthState state);  // "unverified", "healthy", ...
std::optional<HealthState> HealthStateFromName(std::string_view name);

// The times and counts of the state machine; all configurable (health.* in the configuration).
struct HealthPolicy {
  int failures = 3;  // bad answers within `window` that make a suspect unhealthy
  Duration window{60'000};
  int passes = 2;             // good answers in a row that a recovery needs
  Duration recovery{10'000};  // and how long a recovery lasts at least, without bad evidence
  int flaps = 3;              // falls within `flap_window` that count as flapping; 0: none do
  Duration flap_window{600'000};
  Duration hold{60'000};  // how long a flapping device stays out; doubles per fall
  Duration hold_limit{1'800'000};
  bool operator==(const HealthPolicy&) const = default;
};

// The health state of one device, and what the next evidence is judged by. Times are steady, so a
// verdict is valid for one boot.
struct Verdict {
  HealthState state = HealthState::kUnverified;
  Reason reason = Reason::kNotChecked;  // why it is not healthy; meaningless when it is
  std::string detail;                   // particulars, at most kDetailLimit bytes
  Steady since{};                       // when this state began
  int passes = 0;                       // good answers in a row; not counted beyond the policy's
  std::vector<Steady> failures;         // bad answers within the window, oldest first
  std::vector<Steady> falls;            // falls within the flap window, oldest first
  Steady held_until{};                  // no recovery before; set by flapping and by a probation
  Remedy remedy = Remedy::kNone;        // no good evidence counts before it has happened

  // Whether kubelet gets Healthy: for healthy and suspect devices.
  bool offered() const { return state == HealthState::kHealthy || state == HealthState::kSuspect; }
  bool operator==(const Verdict&) const = default;
};

inline constexpr size_t kDetailLimit = 256;

// The verdict after one more observation. A good answer brings the device back by
// HealthPolicy::passes and HealthPolicy::recovery. `since` changes only with the state.
Verdict Judge(const Verdict& before, const Evidence& evidence, const HealthPolicy& policy,
              Steady now);

// A person's order to take a device out. Node keeps it beside the verdict; it outlasts restarts and
// reboots.
struct Cordon {
  std::string reason;  // the person's own words
  Wall since{};
  bool operator==(const Cordon&) const = default;
};

}  // namespace tessera
