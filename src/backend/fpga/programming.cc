// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/programming.h"

namespace tessera::fpga {

Result<Prepared> Programming::Prepare(const PrepareRequest&) {
  Prepared prepared;
  prepared.edits.hooks.push_back({.name = "createRuntime", .path = kHook, .args = {kHook}});
  return prepared;
}

}  // namespace tessera::fpga
