// SPDX-License-Identifier: Apache-2.0
// Texts of FPGAs in sysfs: ids, registers, names of shells, paths.
#include <algorithm>

#include "backend/fpga/names.h"
#include "base/characters.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fpga;  // NOLINT(google-build-using-namespace)
  const std::string_view text = tessera::fuzz::Text(data, size);
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view second = text.substr(std::min(text.size(), first.size() + 1));
  const auto id = ParseId(first);
  if (id) {
    Require(id->size() == 32, "an id has 32 digits");
    const std::string profile = AfProfile(*id, ParseId(second).value_or(*id));
    Require(profile.size() == 3 + 4 + 4 + 43, "a function's profile has the plugin's length");
    Require(tessera::IsAlphanumeric(profile.back()), "a resource's name may end so");
    (void)IsOnes(*id);
    Require(RegionProfile(*id).size() == 7 + 32, "a region's profile has its id");
  }
  const auto shell = ShellProfile(first, second);
  if (shell) {
    Require(shell->size() <= 63, "a name of a resource is short");
    Require(tessera::IsAlphanumeric(shell->front()) && tessera::IsAlphanumeric(shell->back()),
            "a resource's name begins and ends with a letter or digit");
  }
  const std::string address = PciAddressIn(text);
  Require(text.find(address) != text.npos, "an address is of the path");
  (void)InstanceOf(first);
  (void)ParseRegister(text);
  (void)NumberBehind("dfl-port.", text);
  return 0;
}
