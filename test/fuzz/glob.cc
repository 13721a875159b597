// SPDX-License-Identifier: Apache-2.0
// Patterns of device files, and the ids of matching paths. The first line is the pattern, the
// second a path.

#include "backend/file/glob.h"

#include "backend/file/device_id.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  const size_t cut = std::min(text.find('\n'), size);
  const std::string_view pattern = text.substr(0, cut);
  const std::string_view path = text.substr(std::min(cut + 1, size));

  tessera::file::HasWildcard(pattern);
  tessera::file::FixedDirectory(pattern);
  if (const auto matched = tessera::file::WildcardText(pattern, path)) {
    Require(path.find(*matched) != std::string_view::npos, "what matched is in the path");
  }
  const std::string id = tessera::file::DeviceId(path);
  Require(!id.empty() && id.size() <= tessera::file::kMaxIdLength, "an id has its length");
  Require(
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
          std::string::npos,
      "an id is plain");
  return 0;
}
