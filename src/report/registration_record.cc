// SPDX-License-Identifier: Apache-2.0
#include "report/registration_record.h"

#include "base/text.h"
#include "hami/vendor.h"
#include "os/files.h"

namespace tessera {
namespace {

// One word per line.
std::string RecordPath(const std::string& state_dir) {
  return state_dir + "/hami-registration";
}

}  // namespace

Result<std::set<std::string>> RecordedRegistrations(const std::string& state_dir) {
  const auto text = os::ReadFile(RecordPath(state_dir));
  std::set<std::string> words;
  if (!text && text.error().reason == Reason::kNotFound) return words;
  for (const std::string& line : Split(TRY(text), '\n')) {
    if (!line.empty()) words.insert(line);
  }
  // Version 0.1.0 writes no word, and registers NVIDIA's GPUs alone.
  if (words.empty()) words.emplace(hami::kNvidia.word);
  return words;
}

Status RecordRegistrations(const std::string& state_dir, const std::set<std::string>& words) {
  if (words.empty()) return os::RemoveFile(RecordPath(state_dir));
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return os::WriteFileAtomically(RecordPath(state_dir), text);
}

}  // namespace tessera
