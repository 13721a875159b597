// SPDX-License-Identifier: Apache-2.0
#include "config/schema/checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "base/text.h"
#include "config/schema/family.h"
#include "config/schema/problem.h"
#include "os/address.h"
#include "os/unix_socket.h"

namespace tessera::config {
namespace {

bool AllOf(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsLetter(c) || IsDigit(c) || extra.find(c) != std::string_view::npos;
  });
}

Misfit Must(std::string_view rule, std::string_view text, Reason reason = Reason::kConfigBadValue) {
  return {reason, fmt::format("must be {}, not {}", rule, Quoted(text)), ""};
}

// CDI's rule for both halves of a kind: it begins with a letter and ends with a letter or digit.
// CDI libraries in use require at least two characters.
bool IsCdiPart(std::string_view part, std::string_view extra) {
  return part.size() >= 2 && IsLetter(part.front()) &&
         (IsLetter(part.back()) || IsDigit(part.back())) && AllOf(part, extra);
}

}  // namespace

std::optional<Misfit> CheckAbsolutePath(std::string_view text) {
  if (!text.starts_with('/')) return Must("an absolute path", text);
  for (const std::string& part : Split(text, '/')) {
    if (part == "..") return Must("a path without '..'", text);
  }
  return std::nullopt;
}

std::optional<Misfit> CheckSocketPath(std::string_view text) {
  if (text.size() > os::kMaxSocketPath) {
    return Misfit{Reason::kConfigBadValue,
                  fmt::format("is {} bytes long; the path of a unix socket may have {}",
                              text.size(), os::kMaxSocketPath),
                  ""};
  }
  return std::nullopt;
}

std::optional<Misfit> CheckResourceName(std::string_view text) {
  // A family is checked with its longest name.
  constexpr std::string_view kLongProfile = "1c.1g.141gb.me.all";
  if (IsExtendedResourceName(IsFamily(text) ? MemberName(text, kLongProfile) : std::string(text))) {
    return std::nullopt;
  }
  Misfit misfit = Must("an extended resource name, vendor.domain/name outside kubernetes.io", text,
                       Reason::kConfigBadName);
  if (text.starts_with("requests.")) misfit.suggestion = text.substr(9);
  return misfit;
}

std::optional<Misfit> CheckEnvironmentName(std::string_view text) {
  if (!text.empty() && !IsDigit(text.front()) && AllOf(text, "_")) return std::nullopt;
  return Must("the name of an environment variable (letters, digits and _)", text);
}

std::optional<Misfit> CheckPermissions(std::string_view text) {
  const auto once = [&](char c) { return std::count(text.begin(), text.end(), c) == 1; };
  const bool known = text.find_first_not_of("rwm") == std::string_view::npos;
  if (!text.empty() && known && std::all_of(text.begin(), text.end(), once)) return std::nullopt;
  return Must("some of the letters r (read), w (write) and m (mknod), each once", text);
}

std::optional<Misfit> CheckCdiKind(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && IsCdiPart(text.substr(0, slash), "_-.") &&
      IsCdiPart(text.substr(slash + 1), "_-")) {
    return std::nullopt;
  }
  return Must("a CDI kind, vendor/class with at least two letters each", text);
}

std::optional<Misfit> CheckAnnotationPrefix(std::string_view text) {
  constexpr size_t kLongest = 32;  // the name of the resource follows, 63 characters in all
  const size_t slash = text.find('/');
  const bool domain = slash == std::string_view::npos || IsCdiPart(text.substr(0, slash), "-.");
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const bool begins = name.empty() || IsLetter(name.front()) || IsDigit(name.front());
  if (domain && begins && name.size() <= kLongest && AllOf(name, "_-.")) return std::nullopt;
  return Must(fmt::format("the beginning of an annotation's key, domain/name with at most {} "
                          "characters behind the slash",
                          kLongest),
              text);
}

std::optional<Misfit> CheckSocketPrefix(std::string_view text) {
  constexpr size_t kLongest = 32;
  if (!text.empty() && text.size() <= kLongest && text.front() != '.' && AllOf(text, "_-.")) {
    return std::nullopt;
  }
  return Must("the beginning of a file name (at most 32 letters, digits, _, - and .)", text);
}

std::optional<Misfit> CheckHttpAddress(std::string_view text) {
  if (text == "off" || os::ParseAddress(text)) return std::nullopt;
  return Must("'off' or ADDRESS:PORT, such as 127.0.0.1:9440, [::1]:9440 or, for all, :9440", text);
}

// Kubernetes requires one word. Only kubelet may write its own condition types.
std::optional<Misfit> CheckConditionType(std::string_view text) {
  constexpr std::array kKubelets = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure",
                                    "NetworkUnavailable"};
  constexpr size_t kLongest = 63;
  if (std::ranges::count(kKubelets, text) > 0)
    return Must("none of kubelet's own conditions", text);
  if (!text.empty() && text.size() <= kLongest && AllOf(text, "")) return std::nullopt;
  return Must("'off' or the condition's name (at most 63 letters and digits)", text);
}

}  // namespace tessera::config
