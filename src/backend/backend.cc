// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

namespace tessera {

std::shared_ptr<const cdi::Parts> Backend::DescribeForCdi(const std::vector<Device>&) {
  return nullptr;
}

Status Backend::Reset(const Device&) {
  return {};
}

Status Backend::InjectFault(std::string_view verb, std::string_view, std::string_view) {
  return Fail(Reason::kNotFound,
              "cannot inject \"{}\": devices of this kind are real and take no faults", verb);
}

}  // namespace tessera
