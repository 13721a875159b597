// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/lease.h"

#include "kube/objects/members.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostOfLease = size_t{16} << 10;

}  // namespace

Form LeaseForm() {
  using json::Shape;
  const Shape text = Shape::Scalar();
  return {.shape = Shape::Object(
              {{"metadata", Shape::Object({{"name", text}, {"resourceVersion", text}})},
               {"spec", Shape::Object({{"holderIdentity", text}})}}),
          .most = kMostOfLease};
}

Result<Lease> ReadLease(const json::Value& object) {
  const json::Object* lease = object.if_object();
  if (lease == nullptr) return Fail(Reason::kInvalid, "a Lease is no object");
  const json::Object* spec = TRY(ObjectIn(*lease, "spec"));
  return Lease{.holder = TRY_IN(TextIn(*spec, "holderIdentity"), "spec")};
}

bool IsOfHost(const std::string& holder, const std::string& host) {
  return !host.empty() && holder.starts_with(host + "_") &&
         holder.find('_', host.size() + 1) == std::string::npos;
}

}  // namespace tessera::kube
