// SPDX-License-Identifier: Apache-2.0
// Finds functions in the named way and prints where it found them: "hook" in libvgpu.so, "driver"
// in libcuda.so.1, "none", or the file's name.
//
// `linked`: the function that the program was linked with, and the result of a call.
// `default|next|self NAME`: dlsym of RTLD_DEFAULT, RTLD_NEXT, dlopen(NULL).
// `open NAME`, `version NAME VERSION`: dlsym, dlvsym of dlopen("libcuda.so.1").
// `again FILE`: a library that calls the driver, closed and opened again.
// `library-default|library-next NAME`: the same lookups by a library.
// `plugin-default NAME`: by a library that was opened, with its dependencies.
// `program-default NAME`: by the program while such a library is open.
// `weak FILE`: a library's weak reference, and the result of a call.
// `proc NAME VERSION FLAGS`: cuGetProcAddress_v2, with the hook's name and the status.
// `proc1 NAME VERSION FLAGS`: the older cuGetProcAddress, which has no status.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "limiter/driver/cuda.h"

// Null if the program is not linked with them.
extern "C" [[gnu::weak]] void* LibraryLooksUp(void* handle, const char* name);
extern "C" [[gnu::weak]] CUresult cuGetProcAddress_v2(const char*, void**, int, cuuint64_t,
                                                      CUdriverProcAddressQueryResult*);

// The library defines a function of this name as well.
extern "C" [[gnu::visibility("default")]] int cuOfSeveral() {
  return 0;
}

namespace {

std::string Where(const void* address) {
  Dl_info info;
  if (address == nullptr) return "none";
  if (dladdr(address, &info) == 0) return "nowhere";
  std::string name = info.dli_fname;
  name = name.substr(name.find_last_of('/') + 1);
  if (name == "libvgpu.so") return "hook";
  return name == "libcuda.so.1" ? "driver" : name;
}

void* Open(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) printf("%s\n", dlerror());
  return handle;
}

std::string Called(decltype(&cuGetProcAddress_v2) ask) {
  if (ask == nullptr) return "none";
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  const CUresult result = ask("cuInit", &found, 12000, 0, &status);
  return Where(reinterpret_cast<void*>(ask)) + " " + std::to_string(result) + " " + Where(found);
}

std::string Weak(const char* file) {
  const auto refers =
      reinterpret_cast<decltype (&cuGetProcAddress_v2) (*)()>(dlsym(Open(file), "LibraryRefersTo"));
  return Called(refers());
}

const char* Said(CUdriverProcAddressQueryResult status) {
  switch (status) {
    case CU_GET_PROC_ADDRESS_SUCCESS:
      return ", found";
    case CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND:
      return ", unknown";
    case CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT:
      return ", version too old";
    default:
      return "";
  }
}

std::string Proc(const std::string& way, const char* name, int version, cuuint64_t flags) {
  void* handle = Open("libcuda.so.1");
  void* found = nullptr;
  auto status = static_cast<CUdriverProcAddressQueryResult>(3);  // none of the enum's
  if (way == "proc1") {
    reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(handle, "cuGetProcAddress"))(
        name, &found, version, flags);
  } else {
    reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(handle, "cuGetProcAddress_v2"))(
        name, &found, version, flags, &status);
  }
  // The driver has several functions for one symbol, so the hook's name is printed.
  Dl_info info{};
  const bool is_hook = Where(found) == "hook" && dladdr(found, &info) != 0;
  return Where(found) + (is_hook ? std::string(" ") + info.dli_sname : "") + Said(status);
}

// Three times it opens a library that is linked with the driver, calls it and closes it. Each time
// a mapping then takes the place of the unloaded driver.
std::string Again(const char* file) {
  std::string answers;
  for (int i = 0; i < 3; ++i) {
    void* plugin = Open(file);
    const auto refers =
        reinterpret_cast<decltype (&cuGetProcAddress_v2) (*)()>(dlsym(plugin, "LibraryRefersTo"));
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    const CUresult result = refers()("cuInit", &found, 12000, 0, &status);
    answers += Where(found) + " " + std::to_string(result) + ", ";
    Dl_info driver{};
    dladdr(found, &driver);
    dlclose(plugin);
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr) return answers + "it stayed";
    mmap(driver.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  return answers;
}

std::string Found(const std::string& way, const char* name, const char* version) {
  void* found = nullptr;
  if (way == "default") found = dlsym(RTLD_DEFAULT, name);
  if (way == "next") found = dlsym(RTLD_NEXT, name);
  if (way == "self") found = dlsym(dlopen(nullptr, RTLD_NOW), name);
  if (way == "open") found = dlsym(Open("libcuda.so.1"), name);
  if (way == "version") found = dlvsym(Open("libcuda.so.1"), name, version);
  if (way.starts_with("library") && &LibraryLooksUp != nullptr) {
    found = LibraryLooksUp(way == "library-next" ? RTLD_NEXT : RTLD_DEFAULT, name);
  }
  if (way.ends_with("-default")) {
    void* plugin = way == "library-default" ? nullptr : Open("libways_plugin.so");
    if (way == "program-default") found = dlsym(RTLD_DEFAULT, name);
    if (way == "plugin-default") {
      found = reinterpret_cast<decltype(&LibraryLooksUp)>(dlsym(plugin, "LibraryLooksUp"))(
          RTLD_DEFAULT, name);
    }
  }
  const bool explained = found != nullptr || dlerror() != nullptr;
  return Where(found) + (explained ? "" : ", and not a word why");
}

}  // namespace

int main(int count, char** words) {
  const std::string way = count > 1 ? words[1] : "";
  const std::string name = count > 2 ? words[2] : "";
  if (way == "linked") {
    printf("%s", Called(&cuGetProcAddress_v2).c_str());
  } else if (way == "again") {
    printf("%s", Again(name.c_str()).c_str());
  } else if (way == "weak") {
    printf("%s", Weak(name.c_str()).c_str());
  } else if (way == "proc" || way == "proc1") {
    printf("%s", Proc(way, name.c_str(), atoi(words[3]), strtoull(words[4], nullptr, 0)).c_str());
  } else {
    printf("%s", Found(way, name.c_str(), count > 3 ? words[3] : "").c_str());
  }
  return 0;
}
