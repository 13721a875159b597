// SPDX-License-Identifier: Apache-2.0
#include "cli/command/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/command/yaml.h"

namespace tessera::cli {
namespace {
std::string& ProgramName() {
  static std::string name = "tessera";
  return name;
}
}  // namespace

void SetProgramName(std::string_view name) {
  ProgramName() = name;
}

int Print(std::string_view text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? kOk : kFailed;
}

void PrintToError(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int PrintFailure(const Error& error) {
  PrintToError(fmt::format("{}: {}\n", ProgramName(), error.Text()));
  return kFailed;
}

int PrintMisuse(std::string_view command, std::string_view what) {
  PrintToError(
      fmt::format("{0} {1}: {2}\n'{0} {1} --help' says more\n", ProgramName(), command, what));
  return kUsage;
}

View OutputView(bool wide) {
  View view{.columns = wide ? 0 : kMostColumns};
  if (isatty(STDOUT_FILENO) == 0) return view;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (known && !wide) view.columns = std::min<int>(size.ws_col, kMostColumns);
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): never set
  view.color = no_color == nullptr || *no_color == 0;
  return view;
}

Option OutputOption(std::vector<std::string> forms) {
  return {.name = "--output",
          .value = "FORMAT",
          .help = "the output format",
          .letter = 'o',
          .fallback = forms.front(),
          .choices = std::move(forms)};
}

std::optional<int> PrintDocument(const Arguments& arguments, const json::Value& value) {
  std::string form = arguments.Get("output");
  if (form == "json") return Print(json::WritePretty(value));
  if (form == "yaml") return Print(WriteYaml(value));
  return {};
}

}  // namespace tessera::cli
