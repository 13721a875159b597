// SPDX-License-Identifier: Apache-2.0
// Result<T> is a value or an Error. Status is success or an Error. Our code throws no exceptions.
//   std::string text = TRY(ReadFile(path));        // returns the error to the caller
//   return Fail(Reason::kInvalid, "size {} is negative", size);
#pragma once

#include <fmt/core.h>

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace tessera {

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

template <class... Args>
tl::unexpected<Error> Fail(Reason reason, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{reason, fmt::format(format, std::forward<Args>(args)...)});
}

namespace internal {
inline void Value(Status&&) {}
template <class T>
T Value(Result<T>&& result) {
  return *std::move(result);
}
}  // namespace internal

// The value of a Result. On an error, returns that from the enclosing function.
#define TRY(expression)                                                     \
  ({                                                                        \
    auto try_result = (expression);                                         \
    if (!try_result) return ::tessera::Fail(std::move(try_result).error()); \
    ::tessera::internal::Value(std::move(try_result));                      \
  })

// TRY with `context: ` in front of the error's message.
#define TRY_IN(expression, context)                                          \
  ({                                                                         \
    auto try_result = (expression);                                          \
    if (!try_result) return ::tessera::Fail(try_result.error().In(context)); \
    ::tessera::internal::Value(std::move(try_result));                       \
  })

}  // namespace tessera
