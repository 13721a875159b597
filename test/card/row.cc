// SPDX-License-Identifier: Apache-2.0
#include "card/row.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tessera::card {
namespace {

// JSON's own characters are escaped, and what is no printable ASCII is a question mark: a driver's
// text is not trusted to be UTF-8.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c >= ' ' && c <= '~' ? c : '?';
  }
  return quoted + '"';
}

void Write(std::string_view kind, std::string_view name, const std::string& members) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  const char* part = std::getenv("CARD_PART");
  const std::string line = "{\"part\":" + Quoted(part != nullptr ? part : "") +
                           ",\"kind\":" + Quoted(kind) + ",\"name\":" + Quoted(name) + members +
                           "}\n";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): likewise
  const char* file = std::getenv("CARD_ROWS");
  const int fd =
      file != nullptr ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : STDOUT_FILENO;
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::perror("a row cannot be written");
  }
  if (fd > STDOUT_FILENO) close(fd);
}

std::string Note(std::string_view note) {
  return note.empty() ? std::string() : ",\"note\":" + Quoted(note);
}

}  // namespace

void Fact(std::string_view name, std::string_view value, std::string_view note) {
  Write("fact", name, ",\"value\":" + Quoted(value) + Note(note));
}

void Figure(std::string_view name, std::string_view unit, const std::vector<double>& samples,
            std::string_view note) {
  std::string list;
  for (const double sample : samples) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", sample);
    list += (list.empty() ? "" : ",") + std::string(text);
  }
  Write("figure", name, ",\"unit\":" + Quoted(unit) + ",\"samples\":[" + list + "]" + Note(note));
}

void Trouble(std::string_view name, std::string_view what) {
  Write("trouble", name, ",\"value\":" + Quoted(what));
}

}  // namespace tessera::card
