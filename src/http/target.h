// SPDX-License-Identifier: Apache-2.0
// Writes request targets. Pure. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tessera::http {

// Encodes all but letters, digits and "-._~" as %XX.
std::string PercentEncode(std::string_view text);

// The path and the query: "/explain?device=npu%2F7".
std::string WriteTarget(const std::string& path, const std::map<std::string, std::string>& query);

}  // namespace tessera::http
