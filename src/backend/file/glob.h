// SPDX-License-Identifier: Apache-2.0
// Patterns of paths, as of glob(7): `*`, `?` and `[...]`, none of which matches a slash or a
// leading dot; a backslash takes a character as it is. Paths are absolute and below an os::Root;
// answers are without its prefix unless said otherwise. Any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace tessera::file {

bool HasWildcard(std::string_view pattern);
// Whether the pattern's only wildcard is one `*`.
bool HasSingleStar(std::string_view pattern);

// The directory that is searched first: "/dev" for "/dev/ttyUSB*", "/dev/bus/usb" for
// "/dev/bus/usb/*/*", "/dev" for "/dev/kvm".
std::string FixedDirectory(std::string_view pattern);

// The text that the `*` of a pattern with a single star stands for in `path`: "0" for
// "/dev/ttyUSB*" and "/dev/ttyUSB0". nullopt if the pattern is of another kind or does not match.
std::optional<std::string> WildcardText(std::string_view pattern, std::string_view path);

// The paths that match, in natural order; symbolic links count as themselves, dangling ones too. A
// missing directory is no match; one that cannot be read is an error if it is the fixed one, and no
// match further down.
Result<std::vector<std::string>> Expand(const os::Root& root, const std::string& pattern);

// The directories in which matches can come and go: the fixed directory, and for each wildcard
// before the last name, its present matches. With the root's prefix, for os::DirectoryWatch.
std::set<std::string> WatchedDirectories(const os::Root& root, const std::string& pattern);

}  // namespace tessera::file
