// SPDX-License-Identifier: Apache-2.0
// XIDs: what an error that NVIDIA's driver reports means for the GPU it is about. Pure; plain data;
// any thread.
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

// What an XID means for the GPU, MIG devices and replicas included.
enum class XidClass : uint8_t {
  kApplication,  // nothing: a program failed by its own doing
  kRecover,      // it is out until its checks have passed for the class's probation
  kReset,        // the same, and until it was reset
  kReboot,       // it is out until the node was rebooted
};
std::span<const XidClass> AllXidClasses();
std::string_view XidClassName(XidClass xid_class);  // "application", "recover", "reset", "reboot"
std::optional<XidClass> XidClassFromName(std::string_view name);

struct Xid {
  uint64_t number = 0;
  XidClass xid_class = XidClass::kRecover;
  std::string_view meaning;  // for people, without a full stop
};

// Those with a meaning of their own, ascending.
std::span<const Xid> AllXids();
// kRecover, and said to be unknown, where it is none of them.
Xid XidOf(uint64_t number);

// What a site says about XIDs.
struct XidPolicy {
  std::map<uint64_t, XidClass> classes = {};  // instead of the table's
  // For XIDs that `classes` does not name: that none counts, or that all do, those of applications
  // as kRecover.
  bool ignore_others = false;
  bool count_all = false;
  // How long a GPU stays out after the last such event, whatever its checks say.
  Duration recover_probation{300'000};
  Duration reset_probation{0};
  bool operator==(const XidPolicy&) const = default;
};

XidClass ClassOf(uint64_t number, const XidPolicy& policy);
// Whether there is one that is not the application's own.
bool AnyCounts(const XidPolicy& policy);

// "79"; "other" where neither the table nor the policy names it, so that there are not many.
std::string XidName(uint64_t number, const XidPolicy& policy);

// What the event says about a device of the GPU; nothing where it is the application's own.
std::optional<Evidence> EvidenceOf(uint64_t number, const XidPolicy& policy);

// What the two variables of NVIDIA's device plugin, DP_DISABLE_HEALTHCHECKS and
// DP_ENABLE_HEALTHCHECKS, make of a policy: lists of numbers, or "all" or "xids" for all, for which
// 0 stands too where they are enabled. What is enabled counts even where it is disabled too; only
// what neither names is as it was.
struct XidVariables {
  XidPolicy policy;
  std::vector<std::string> not_understood{};  // parts of the values, for a warning, as what follows
  bool zero_is_all = false;                   // a 0 among what is enabled
};
XidVariables ApplyXidVariables(XidPolicy policy, std::string_view disable, std::string_view enable);

}  // namespace tessera::nvidia
