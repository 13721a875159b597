// SPDX-License-Identifier: Apache-2.0
// What a request asks for, as HTTP writes it. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tessera::http {

// Everything but letters, digits and "-._~" as %XX.
std::string PercentEncode(std::string_view text);

// The path, and the query behind it: "/explain?device=npu%2F7".
std::string WriteTarget(const std::string& path, const std::map<std::string, std::string>& query);

}  // namespace tessera::http
