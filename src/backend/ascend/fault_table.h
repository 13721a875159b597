// SPDX-License-Identifier: Apache-2.0
// The classes of fault codes, a row for each class. Source: mind-cluster's faultCode.json,
// 22bb3d98. Constant; any thread.
#pragma once

#include <span>
#include <string_view>

#include "backend/ascend/faults.h"

namespace tessera::ascend {

struct FaultRow {
  FaultClass is;
  std::string_view codes;  // in HasCode's notation
};
std::span<const FaultRow> FaultTable();

}  // namespace tessera::ascend
