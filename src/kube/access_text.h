// SPDX-License-Identifier: Apache-2.0
// What both ways to an access need. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/access.h"

namespace tessera::kube {

// A file with a PEM text or a token, without the white space around it.
Result<Access::Text> ReadText(const std::string& path);

// "6443"; kInvalid for what is none.
Result<int> ParsePort(std::string_view text);

}  // namespace tessera::kube
