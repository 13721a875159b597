// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/lease.h"

#include <algorithm>
#include <cstdint>

#include "kube/objects/members.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostOfLease = size_t{16} << 10;
// The bound of the API type.
constexpr int64_t kMostSeconds = INT32_MAX;

}  // namespace

Form LeaseForm() {
  using json::Shape;
  const Shape text = Shape::Scalar();
  return {
      .shape = Shape::Object(
          {{"metadata", Shape::Object({{"name", text}, {"resourceVersion", text}})},
           {"spec", Shape::Object({{"holderIdentity", text}, {"leaseDurationSeconds", text}})}}),
      .most = kMostOfLease};
}

Result<Lease> ReadLease(const json::Value& object) {
  const json::Object* lease = object.if_object();
  if (lease == nullptr) return Fail(Reason::kInvalid, "a Lease is not an object");
  const json::Object* spec = TRY(ObjectIn(*lease, "spec"));
  const int64_t seconds = json::GetInt(*spec, "leaseDurationSeconds").value_or(0);
  return Lease{.holder = TRY_IN(TextIn(*spec, "holderIdentity"), "spec"),
               .duration = std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMostSeconds))};
}

bool IsOfHost(const std::string& holder, const std::string& host) {
  return !host.empty() && holder.starts_with(host + "_") &&
         holder.find('_', host.size() + 1) == std::string::npos;
}

}  // namespace tessera::kube
