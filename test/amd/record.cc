// SPDX-License-Identifier: Apache-2.0
#include "amd/record.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "os/files.h"

namespace tessera::amd {
namespace {

std::string PathIn(const std::string& directory) {
  return directory + "/.amd-node";
}

}  // namespace

Words SplitWords(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<Record> ReadRecord(const std::string& directory) {
  if (!os::Exists(PathIn(directory))) return std::nullopt;
  const Result<std::string> text = os::ReadFile(PathIn(directory));
  if (!text) throw std::runtime_error(text.error().message);
  std::istringstream lines(*text);
  Record record;
  std::getline(lines, record.name);
  for (std::string line; std::getline(lines, line);) record.changes.push_back(SplitWords(line));
  return record;
}

void WriteRecord(const std::string& directory, const Record& record) {
  std::string text = record.name + "\n";
  for (const Words& change : record.changes) {
    text += fmt::format("{}\n", fmt::join(change, " "));
  }
  const Status written = os::ReplaceFile(PathIn(directory), text, 0644);
  if (!written) throw std::runtime_error(written.error().message);
}

AmdNode TakeOver(const std::string& directory, const Record& record) {
  return {directory, NamedNode(record.name), [&](AmdNode& past) {
            for (const Words& change : record.changes) Apply(past, change);
          }};
}

}  // namespace tessera::amd
