// SPDX-License-Identifier: Apache-2.0
// Loads vendors' driver libraries at run time: search paths, trust, functions. Any thread.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera::os {

// Directories of driver libraries in distributions: "/usr/lib64".
using Directories = std::span<const std::string_view>;

// A library's search paths, best first. They start below `driver_root`, the driver's installation
// as this process sees it. The bare name for the system's loader and the system's directories
// follow, unless `root` has a prefix. Within a directory, `names` are tried in order; each may be a
// version: "libvendor.so.2".
std::vector<std::string> LibraryPaths(const Root& root, std::string_view driver_root,
                                      Directories directories,
                                      std::span<const std::string_view> names);

// Which files may be loaded into this process.
enum class Trust : uint8_t {
  kAnyFile,
  kRootsFile,  // only root and this process's user may change or replace the file
};

struct LoadedLibrary {
  void* handle = nullptr;                   // from dlopen; the caller closes it
  std::string path;                         // the path that was loaded
  std::string failure = "it is not there";  // the reason if there is no handle
};
// Whether libraries that are loaded later find this one's functions.
enum class Scope : uint8_t { kLocal, kGlobal };
// Loads the first existing path. A bare name is left to the loader. It is skipped if the loader
// finds none, and with kRootsFile, since its file was not checked.
LoadedLibrary LoadFirst(const std::vector<std::string>& paths, Directories directories,
                        Trust trust = Trust::kAnyFile, Scope scope = Scope::kLocal);
// Whether one of the paths can be loaded.
bool CanLoad(const std::vector<std::string>& paths, Directories directories);

// Sets `function` if the library has it; otherwise leaves it unchanged.
template <class Function>
void FindFunction(void* handle, const char* name, Function*& function) {
  if (void* symbol = dlsym(handle, name)) function = reinterpret_cast<Function*>(symbol);
}

}  // namespace tessera::os
