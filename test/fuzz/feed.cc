// SPDX-License-Identifier: Apache-2.0
// Feeds a fuzz target the files of the given directories, and every beginning of each file. So its
// corpus is a test in builds without libFuzzer.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "test/fuzz/fuzz.h"

int main(int argc, char** argv) {
  int fed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input((std::istreambuf_iterator<char>(file)), {});
      const size_t step = 1 + input.size() / 256;
      for (size_t size = 0; size < input.size(); size += step) {
        // A copy of exactly that size, so the address sanitizer sees a read beyond its end.
        const std::string beginning = input.substr(0, size);
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(beginning.data()), size);
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
      ++fed;
    }
  }
  std::printf("%d files\n", fed);
  return fed == 0 ? 1 : 0;
}
