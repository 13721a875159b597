// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

namespace tessera {

std::shared_ptr<const cdi::Parts> Backend::DescribeForCdi(const std::vector<Device>&) {
  return nullptr;
}

Status Backend::Reset(const Device&) {
  return {};
}

}  // namespace tessera
