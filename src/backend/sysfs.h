// SPDX-License-Identifier: Apache-2.0
// Reads values of sysfs: short texts, numbers, entries of directories. What cannot be read is
// empty. Any thread; caches nothing.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"

namespace tessera::sysfs {

// A file's text without blanks at its ends.
std::string Text(const std::string& path);
// Of a text such as "0x15b3": "15b3". Other texts: "".
std::string HexText(const std::string& path);
// The names in a directory, sorted.
std::vector<std::string> Names(const std::string& directory);

// The same of one directory, which is opened once: the kernel then looks up names alone, which
// counts where a thousand directories are read. `name` may have several parts: "net/eth0/type".
class Directory {
 public:
  explicit Directory(const std::string& path);

  bool opened() const { return fd_.valid(); }
  // Whether it is not there. One that is not opened may be, if the process has too many files.
  bool missing() const { return missing_; }
  bool Has(const std::string& name) const;
  std::string Text(const std::string& name) const;
  // The file's first bytes as they are.
  std::string Head(const std::string& name, size_t most) const;
  std::string HexText(const std::string& name) const;
  // A link's target, and the last part of it.
  std::string Link(const std::string& name) const;
  std::string LinkName(const std::string& name) const;
  // Of the directory itself, if `name` is ".".
  std::vector<std::string> Names(const std::string& name) const;

 private:
  os::Fd fd_;
  bool missing_ = false;
};

// Nothing, if the text is no number or has more than that.
template <class N>
std::optional<N> Number(std::string_view text, int base = 10) {
  N number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tessera::sysfs
