// SPDX-License-Identifier: Apache-2.0
// What right a call takes, as RBAC has it: who is refused one is told which rule gives it. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera::kube {

// The rule of a role that a call needs, as a line of its file; empty where the path is none of the
// API's. `verb`: as of RBAC.
std::string RuleFor(std::string_view verb, std::string_view path);

// The error of an answer with this status; of one that lacks a right (403) it names the rule.
Error WithRight(Error error, int status, std::string_view verb, std::string_view path);

}  // namespace tessera::kube
