// SPDX-License-Identifier: Apache-2.0
// The RBAC right that a call needs. A refused call's error names the missing rule. Pure. Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera::kube {

// The role rule that a call needs, as a YAML line. Empty if the path is no API path. `verb` is
// RBAC's.
std::string RuleFor(std::string_view verb, std::string_view path);

// Adds the missing rule to the error of a 403 answer. Other errors stay unchanged.
Error WithRight(Error error, int status, std::string_view verb, std::string_view path);

}  // namespace tessera::kube
