// SPDX-License-Identifier: Apache-2.0
// Helpers of both sources of an access. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/access.h"

namespace tessera::kube {

// A file's PEM text or token, trimmed of white space.
Result<Access::Text> ReadText(const std::string& path);

// "6443". kInvalid if the text is no port.
Result<int> ParsePort(std::string_view text);

}  // namespace tessera::kube
