// SPDX-License-Identifier: Apache-2.0
// Writes a named node's files for tests in other languages, and changes those of a former run:
// fpga_tree DIR NAME [CHANGE [ARGUMENT...]]. One change a run. The file .fpga-node of DIR has the
// name, then the changes so far, one a line.
#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "fpga/node.h"
#include "os/files.h"

namespace tessera::fpga {
namespace {

Words WordsIn(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void Run(const Words& arguments) {
  if (arguments.size() < 2) throw BadChange("DIR and NAME are needed");
  const std::string& directory = arguments[0];
  const std::string& name = arguments[1];
  const std::string record = directory + "/.fpga-node";
  const bool is_there = os::Exists(record);
  std::string text = os::ReadFile(record).value_or(name + "\n");
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  if (line != name) throw BadChange(fmt::format("{} has the node {}", directory, line));
  std::vector<Words> past;
  while (std::getline(lines, line)) past.push_back(WordsIn(line));
  FpgaNode node =
      is_there ? FpgaNode(directory, NamedNode(name), past) : FpgaNode(directory, NamedNode(name));
  const Words change(arguments.begin() + 2, arguments.end());
  if (!change.empty()) {
    node.Apply(change);
    text += fmt::format("{}\n", fmt::join(change, " "));
  }
  const Status written = os::ReplaceFile(record, text, 0644);
  if (!written) throw std::runtime_error(written.error().message);
}

}  // namespace
}  // namespace tessera::fpga

int main(int argc, char** argv) {
  try {
    tessera::fpga::Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "fpga_tree: {}\n", error.what());
    return 1;
  }
  return 0;
}
