// SPDX-License-Identifier: Apache-2.0
// XIDs: the meaning of an error that NVIDIA's driver reports for a GPU. Pure; plain data; any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "health/health.h"

namespace tessera::nvidia {

// The effect of an XID on the GPU, MIG devices and replicas included.
enum class XidClass : uint8_t {
  kApplication,  // none: the program's own fault
  kRecover,      // out until its checks have passed for the class's probation
  kReset,        // as kRecover, and until it was reset
  kReboot,       // out until the node was rebooted
};
std::span<const XidClass> AllXidClasses();
std::string_view XidClassName(XidClass xid_class);  // "application", "recover", "reset", "reboot"
std::optional<XidClass> XidClassFromName(std::string_view name);

struct Xid {
  uint64_t number = 0;
  XidClass xid_class = XidClass::kRecover;
  std::string_view meaning;  // for people, without a full stop
};

// The XIDs of the table, ascending.
std::span<const Xid> AllXids();
// The table's entry; an unknown XID is a kRecover one.
Xid XidOf(uint64_t number);

// A site's policy for XIDs.
struct XidPolicy {
  std::map<uint64_t, XidClass> classes = {};  // instead of the table's
  // For XIDs that `classes` does not name: none counts, or all count, those of applications as
  // kRecover.
  bool ignore_others = false;
  bool count_all = false;
  // The shortest time that a GPU stays out after the last such event, whatever its checks show.
  Duration recover_probation{300'000};
  Duration reset_probation{0};
  bool operator==(const XidPolicy&) const = default;
};

XidClass ClassOf(uint64_t number, const XidPolicy& policy);
// Whether any XID counts.
bool AnyCounts(const XidPolicy& policy);

// "79"; "other" if neither the table nor the policy names it. This bounds the number of names.
std::string XidName(uint64_t number, const XidPolicy& policy);

// The event's evidence about a device of the GPU; null: it is the application's own fault.
std::optional<Evidence> EvidenceOf(uint64_t number, const XidPolicy& policy);

// Applies two variables of NVIDIA's device plugin, DP_DISABLE_HEALTHCHECKS and
// DP_ENABLE_HEALTHCHECKS, to a policy. Each is a list of numbers, or "all" or "xids" for all; in
// the second, 0 means all too. Enabled XIDs count even if also disabled. The policy decides on
// those that neither names.
struct XidVariables {
  XidPolicy policy;
  std::vector<std::string> not_understood{};  // parts of the values, for a warning
  bool zero_is_all = false;                   // a 0 among the enabled numbers
};
XidVariables ApplyXidVariables(XidPolicy policy, std::string_view disable, std::string_view enable);

}  // namespace tessera::nvidia
