// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/xid.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/text.h"

namespace tessera::nvidia {
namespace {

constexpr Xid kXids[] = {
#define XID(number, xid_class, meaning) {number, XidClass::xid_class, meaning},
#include "backend/nvidia/core/xid.def"
#undef XID
};

constexpr std::array<std::string_view, 4> kClasses = {"application", "recover", "reset", "reboot"};

struct Tokens {
  bool all = false;
  std::set<uint64_t> numbers;
};

Tokens Read(std::string_view value, std::vector<std::string>& not_understood) {
  Tokens tokens;
  for (const std::string& part : Split(value, ',')) {
    std::string token(Trim(part));
    std::transform(token.begin(), token.end(), token.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (token.empty()) continue;
    uint64_t number = 0;
    const char* end = token.data() + token.size();
    const auto [rest, error] = std::from_chars(token.data(), end, number);
    if (token == "all" || token == "xids") {
      tokens.all = true;
    } else if (error == std::errc() && rest == end) {
      tokens.numbers.insert(number);
    } else {
      not_understood.push_back(token);
    }
  }
  return tokens;
}

// Null: not in the table.
const Xid* Find(uint64_t number) {
  const auto* it = std::ranges::lower_bound(kXids, number, {}, &Xid::number);
  return it != std::end(kXids) && it->number == number ? it : nullptr;
}

XidClass Counting(XidClass xid_class) {
  return xid_class == XidClass::kApplication ? XidClass::kRecover : xid_class;
}

std::string_view AdviceOf(XidClass xid_class) {
  switch (xid_class) {
    case XidClass::kReset:
      return "reset the GPU";
    case XidClass::kReboot:
      return "reboot the node";
    default:
      return "it returns once its checks have passed for a while";
  }
}

}  // namespace

std::span<const XidClass> AllXidClasses() {
  static constexpr std::array kAll = {XidClass::kApplication, XidClass::kRecover, XidClass::kReset,
                                      XidClass::kReboot};
  return kAll;
}

std::string_view XidClassName(XidClass xid_class) {
  return kClasses[static_cast<size_t>(xid_class)];
}

std::optional<XidClass> XidClassFromName(std::string_view name) {
  const auto* it = std::find(kClasses.begin(), kClasses.end(), name);
  if (it == kClasses.end()) return std::nullopt;
  return static_cast<XidClass>(it - kClasses.begin());
}

std::span<const Xid> AllXids() {
  return kXids;
}

Xid XidOf(uint64_t number) {
  const Xid* known = Find(number);
  if (known != nullptr) return *known;
  return {number, XidClass::kRecover, "an error that is not in our table"};
}

XidClass ClassOf(uint64_t number, const XidPolicy& policy) {
  const auto said = policy.classes.find(number);
  if (said != policy.classes.end()) return said->second;
  if (policy.ignore_others) return XidClass::kApplication;
  const XidClass usual = XidOf(number).xid_class;
  return policy.count_all ? Counting(usual) : usual;
}

bool AnyCounts(const XidPolicy& policy) {
  return !policy.ignore_others || std::ranges::any_of(policy.classes, [](const auto& entry) {
    return entry.second != XidClass::kApplication;
  });
}

std::string XidName(uint64_t number, const XidPolicy& policy) {
  const bool known = Find(number) != nullptr || policy.classes.contains(number);
  return known ? std::to_string(number) : "other";
}

std::optional<Evidence> EvidenceOf(uint64_t number, const XidPolicy& policy) {
  const XidClass xid_class = ClassOf(number, policy);
  if (xid_class == XidClass::kApplication) return std::nullopt;
  Evidence evidence{
      .kind = EvidenceKind::kFatal,
      .source = EvidenceSource::kEvent,
      .reason = Reason::kXid,
      .detail = fmt::format("XID {}: {}; {}", number, XidOf(number).meaning, AdviceOf(xid_class))};
  switch (xid_class) {
    case XidClass::kApplication:
      break;
    case XidClass::kRecover:
      evidence.probation = policy.recover_probation;
      break;
    case XidClass::kReset:
      evidence.remedy = Remedy::kReset;
      evidence.probation = policy.reset_probation;
      break;
    case XidClass::kReboot:
      evidence.remedy = Remedy::kReboot;
      break;
  }
  return evidence;
}

XidVariables ApplyXidVariables(XidPolicy policy, std::string_view disable,
                               std::string_view enable) {
  XidVariables result{.policy = std::move(policy)};
  const Tokens disabled = Read(disable, result.not_understood);
  Tokens enabled = Read(enable, result.not_understood);
  // Inside the plugin 0 stands for every XID. Here it does so only where XIDs are enabled, as a 0
  // is not meant to switch health checks off.
  result.zero_is_all = enabled.numbers.erase(0) > 0;
  enabled.all |= result.zero_is_all;
  XidPolicy& made = result.policy;
  for (uint64_t number : disabled.numbers) made.classes[number] = XidClass::kApplication;
  if (disabled.all) {
    made.classes.clear();
    made.ignore_others = true;
  }
  if (enabled.all) {
    std::erase_if(made.classes,
                  [](const auto& entry) { return entry.second == XidClass::kApplication; });
    made.ignore_others = false;
    made.count_all = true;
  }
  for (uint64_t number : enabled.numbers) {
    made.classes[number] = Counting(XidOf(number).xid_class);
  }
  return result;
}

}  // namespace tessera::nvidia
