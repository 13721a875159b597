// SPDX-License-Identifier: Apache-2.0
#include "card/probes/driver.h"

#include <dlfcn.h>

namespace tessera::card {

void* FindInDriver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) throw Missing{library != nullptr ? name : "libcuda.so.1"};
  Called().insert(name);
  return found;
}

std::set<std::string>& Called() {
  static std::set<std::string> called;
  return called;
}

}  // namespace tessera::card
