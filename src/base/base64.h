// SPDX-License-Identifier: Apache-2.0
// Base64 with padding (RFC 4648), as Go writes bytes in JSON. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

std::string EncodeBase64(std::string_view bytes);
// Nothing if `text` is not complete, padded base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace tessera
