// SPDX-License-Identifier: Apache-2.0
// A fake node for tests: a directory of its own with a description of hardware, and processes that
// have the fake driver. The driver is of a process and is never unloaded, so each body runs in a
// child. One thread.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>

#include "cuda/state.h"
#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

// The driver, in a process of a node.
class Library {
 public:
  explicit Library(const std::string& path);
  void* Find(const char* symbol) const;
  template <class Signature>
  Signature* As(const char* symbol) const {
    return reinterpret_cast<Signature*>(Find(symbol));
  }

 private:
  void* handle_ = nullptr;
};

class CudaNode {
 public:
  // Of demo/hardware/<hardware>.yaml.
  explicit CudaNode(const std::string& hardware = "1xt4");
  ~CudaNode();
  CudaNode(const CudaNode&) = delete;
  CudaNode& operator=(const CudaNode&) = delete;

  // For the processes that are started from here on.
  void Set(const std::string& name, const std::string& value) { environment_[name] = value; }
  // What the body asserts is asserted by the caller as well: false, where some of it did not hold.
  bool Run(const std::function<void(const Library&)>& body) const;
  // One that goes on; the caller ends it.
  pid_t Start(const std::function<void(const Library&)>& body) const;

  const std::string& directory() const { return directory_; }
  static std::string LibraryPath();

 private:
  std::string directory_;
  std::map<std::string, std::string> environment_;
};

}  // namespace tessera::fake_cuda

// A function of the driver's, in a body whose library is `cuda`; by its declaration, or by its
// type.
#define CALL(name) cuda.As<decltype(name)>(#name)
