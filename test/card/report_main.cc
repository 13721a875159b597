// SPDX-License-Identifier: Apache-2.0
// Turns the rows of the parts into a report, and compares two reports.
//
// usage: report rows ROWS DIR       writes DIR/card.json and DIR/card.md
//        report compare A B         prints what differs between two card.json
#include <sys/stat.h>
#include <time.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "card/report.h"

using namespace tessera::card;  // NOLINT(google-build-using-namespace)

namespace {

bool Read(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) std::cerr << path << " cannot be read\n";
  return static_cast<bool>(file);
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || chmod(path.c_str(), 0644) != 0) {
    std::cerr << path << " cannot be written\n";
    return false;
  }
  return true;
}

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts{};
  char text[32];
  gmtime_r(&now, &parts);
  strftime(text, sizeof text, "%F %TZ", &parts);
  return text;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count == 4 ? words[1] : "";
  std::string a, b;
  if (what == "rows") {
    if (!Read(words[2], a)) return 1;
    const Report report = ReadRows(a, Now());
    const std::string directory = words[3];
    return Write(directory + "/card.json", Json(report)) &&
                   Write(directory + "/card.md", Markdown(report))
               ? 0
               : 1;
  }
  if (what == "compare") {
    if (!Read(words[2], a) || !Read(words[3], b)) return 1;
    std::cout << Compare(ReadJson(a), ReadJson(b));
    return 0;
  }
  std::cerr << "usage: report rows ROWS DIR | report compare A B\n";
  return 2;
}
