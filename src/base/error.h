// SPDX-License-Identifier: Apache-2.0
// Errors are values: a reason from one catalogue (each folder's reasons.def) and a sentence with
// the details. Plain data. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

enum class Reason : uint8_t {
#define REASON(name, text, advice) name,
#include "all_reasons.def"
#undef REASON
};

// "unhealthy-share". Stable across versions; used in messages, metric labels and documents.
std::string_view ReasonName(Reason reason);
// "delete the pod so that ...": the next step for a person.
std::string_view ReasonAdvice(Reason reason);
std::optional<Reason> ReasonFromName(std::string_view name);
// Every reason, in the catalogue's order.
std::span<const Reason> AllReasons();

struct Error {
  Reason reason;
  std::string message;  // what happened and where, without the advice

  // "MESSAGE [NAME]: ADVICE", the form of every refusal that a person sees.
  std::string Text() const;
  // The same error with `context: ` in front of its message.
  Error In(std::string_view context) const;

  bool operator==(const Error&) const = default;
};

// The error of a failed system call. ENOENT is kNotFound, EACCES and EPERM are kPermission, all
// others kIo. The message is "context: strerror".
Error SystemError(std::string_view context, int error_number);

}  // namespace tessera
