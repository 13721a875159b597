// SPDX-License-Identifier: Apache-2.0
#include "report/condition_record.h"

#include "base/text.h"
#include "os/files.h"

namespace tessera {
namespace {

// One type per line.
std::string PathOf(const std::string& state_dir) {
  return state_dir + "/conditions";
}

}  // namespace

Result<std::set<std::string>> RecordedConditions(const std::string& state_dir) {
  const auto text = os::ReadFile(PathOf(state_dir));
  std::set<std::string> types;
  if (!text && text.error().reason != Reason::kNotFound) return Fail(text.error());
  for (const std::string& line : Split(text.value_or(""), '\n')) {
    if (!line.empty()) types.insert(line);
  }
  return types;
}

Status RecordConditions(const std::string& state_dir, const std::set<std::string>& types) {
  if (types.empty()) return os::RemoveFile(PathOf(state_dir));
  std::string text;
  for (const std::string& type : types) text += type + "\n";
  return os::WriteFileAtomically(PathOf(state_dir), text);
}

}  // namespace tessera
