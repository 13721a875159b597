// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/version.h"

#include <charconv>
#include <string>
#include <string_view>

#include "base/quote.h"
#include "kube/objects/members.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostOfVersion = size_t{4} << 10;

Result<int> NumberIn(const json::Object& object, std::string_view key) {
  const std::string text = TRY(NeededTextIn(object, key));
  int number = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) {
    return Fail(Reason::kInvalid, "{} is {}, which is not a number", key, Brief(text));
  }
  return number;
}

}  // namespace

Form VersionForm() {
  using json::Shape;
  const Shape text = Shape::Scalar();
  return {.shape = Shape::Object({{"major", text}, {"minor", text}}), .most = kMostOfVersion};
}

Result<Version> ReadVersion(const json::Value& object) {
  const json::Object* version = object.if_object();
  if (version == nullptr) return Fail(Reason::kInvalid, "a version is not an object");
  return Version{.major = TRY(NumberIn(*version, "major")),
                 .minor = TRY(NumberIn(*version, "minor"))};
}

}  // namespace tessera::kube
