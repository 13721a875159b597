// SPDX-License-Identifier: Apache-2.0
// Libraries of vendors' drivers, opened at run time: where they are looked for, which one is taken,
// and what it has. Any thread.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera::os {

// Where distributions have a driver's libraries: "/usr/lib64".
using Directories = std::span<const std::string_view>;

// Where a library is looked for, best first, for a driver installed below `driver_root` as this
// process sees it; then by its bare name, which the system's loader looks up, and in the system's
// own directories, unless `root` is a world of its own. Of one directory the names are taken in
// their order, as where each is a version: "libvendor.so.2".
std::vector<std::string> LibraryPaths(const Root& root, std::string_view driver_root,
                                      Directories directories,
                                      std::span<const std::string_view> names);

// What is loaded runs in this process.
enum class Trust : uint8_t {
  kAnyFile,
  kRootsFile,  // nobody but root, and who runs this process, may change the file or replace it
};

struct LoadedLibrary {
  void* handle = nullptr;                   // of dlopen; the caller closes it
  std::string path;                         // by which it was loaded
  std::string failure = "it is not there";  // why there is no handle
};
// Loads the first of these that is there. A name without a directory is the loader's to find: it is
// passed over where that finds none, and where the file is to be root's, for nobody has looked at
// it.
LoadedLibrary LoadFirst(const std::vector<std::string>& paths, Directories directories,
                        Trust trust = Trust::kAnyFile);
// Whether the loader takes one of them.
bool CanLoad(const std::vector<std::string>& paths, Directories directories);

// Sets the function, which stays as it is where the library does not have it.
template <class Function>
void FindFunction(void* handle, const char* name, Function*& function) {
  if (void* symbol = dlsym(handle, name)) function = reinterpret_cast<Function*>(symbol);
}

}  // namespace tessera::os
