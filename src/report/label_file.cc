// SPDX-License-Identifier: Apache-2.0
#include "report/label_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "os/files.h"

namespace tessera {
namespace {

bool Has(const std::string& path, const std::string& text) {
  const auto now = os::ReadFile(path);
  return now && *now == text;
}

}  // namespace

std::string LabelLines(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += fmt::format("{}={}\n", key, value);
  return text;
}

Result<bool> WriteLabelFile(const std::string& path, const Labels& labels) {
  const std::string text = LabelLines(labels);
  if (Has(path, text)) return false;
  const auto there = os::Inspect(path);
  if (there && there->type != os::FileInfo::Type::kFile) {
    return Fail(Reason::kIo, "{} is not a plain file", path);
  }
  const size_t name = path.rfind('/') + 1;
  if (name > 1) TRY(os::MakeDirectories(path.substr(0, name - 1), 0755));
  // Node feature discovery reads every file of the directory, except names that begin with a dot.
  const std::string hidden = path.substr(0, name) + "." + path.substr(name);
  TRY(os::WriteFileAtomically(hidden, text, 0644));
  if (std::rename(hidden.c_str(), path.c_str()) == 0) return true;
  Error error = SystemError("cannot rename " + hidden + " to " + path, errno);
  (void)os::RemoveFile(hidden);
  return Fail(std::move(error));
}

Status RemoveLabelFile(const std::string& path, const Labels& labels) {
  return Has(path, LabelLines(labels)) ? os::RemoveFile(path) : Status();
}

}  // namespace tessera
