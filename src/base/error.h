// SPDX-License-Identifier: Apache-2.0
// An error is a value: a reason from one catalogue (the reasons.def of each folder) and a sentence
// with the particulars. Plain data; any thread.
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

// "unhealthy-share": stable across versions, for messages, metrics labels and documents.
std::string_view ReasonName(Reason reason);
// "delete the pod so that ...": what the reader should do next.
std::string_view ReasonAdvice(Reason reason);
std::optional<Reason> ReasonFromName(std::string_view name);
// Every reason, in the catalogue's order.
std::span<const Reason> AllReasons();

struct Error {
  Reason reason;
  std::string message;  // what happened and where, without the advice

  // "MESSAGE [NAME]: ADVICE", the form every refusal reaches a person in.
  std::string Text() const;
  // The same error with `context: ` in front of its message.
  Error In(std::string_view context) const;

  bool operator==(const Error&) const = default;
};

// The error for a failed system call: ENOENT is kNotFound, EACCES and EPERM are kPermission,
// everything else kIo; the message is "context: strerror".
Error SystemError(std::string_view context, int error_number);

}  // namespace tessera
