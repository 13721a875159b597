// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace tessera {
namespace {

struct Row {
  std::string_view name;
  std::string_view advice;
};

constexpr Row kRows[] = {
#define REASON(name, text, advice) {text, advice},
#include "all_reasons.def"
#undef REASON
};

constexpr Reason kReasons[] = {
#define REASON(name, text, advice) Reason::name,
#include "all_reasons.def"
#undef REASON
};

}  // namespace

std::string_view ReasonName(Reason reason) {
  return kRows[static_cast<size_t>(reason)].name;
}

std::string_view ReasonAdvice(Reason reason) {
  return kRows[static_cast<size_t>(reason)].advice;
}

std::optional<Reason> ReasonFromName(std::string_view name) {
  for (Reason reason : kReasons) {
    if (ReasonName(reason) == name) return reason;
  }
  return std::nullopt;
}

std::span<const Reason> AllReasons() {
  return kReasons;
}

std::string Error::Text() const {
  return fmt::format("{} [{}]: {}", message, ReasonName(reason), ReasonAdvice(reason));
}

Error Error::In(std::string_view context) const {
  return {reason, fmt::format("{}: {}", context, message)};
}

Error SystemError(std::string_view context, int error_number) {
  Reason reason = Reason::kIo;
  if (error_number == ENOENT) reason = Reason::kNotFound;
  if (error_number == EACCES || error_number == EPERM) reason = Reason::kPermission;
  return {reason, fmt::format("{}: {}", context, std::generic_category().message(error_number))};
}

}  // namespace tessera
