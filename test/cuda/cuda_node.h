// SPDX-License-Identifier: Apache-2.0
// A fake node for tests: a directory with a description of its hardware, and processes with the
// fake driver. A process can never unload the driver, so each body runs in a forked child. The test
// owns the node. One thread.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>

#include "cuda/state.h"
#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

// The driver's library, loaded in a process of a node. Errors throw std::runtime_error.
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
  // The hardware of demo/hardware/<hardware>.yaml.
  explicit CudaNode(const std::string& hardware = "1xt4");
  ~CudaNode();
  CudaNode(const CudaNode&) = delete;
  CudaNode& operator=(const CudaNode&) = delete;

  // Sets a variable for the processes that start from now on.
  void Set(const std::string& name, const std::string& value) { environment_[name] = value; }
  // Runs `body` in a child and waits for its end. False if `body` threw or the child was killed.
  bool Run(const std::function<void(const Library&)>& body) const;
  // Runs `body` in a child, without waiting. The caller ends the child and waits for it.
  pid_t Start(const std::function<void(const Library&)>& body) const;

  const std::string& directory() const { return directory_; }
  static std::string LibraryPath();

 private:
  std::string directory_;
  std::map<std::string, std::string> environment_;
};

}  // namespace tessera::fake_cuda

// The driver's function of this name, with its declared type. The body's library is named `cuda`.
#define CALL(name) cuda.As<decltype(name)>(#name)
