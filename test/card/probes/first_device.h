// SPDX-License-Identifier: Apache-2.0
// NVML's own word of its first device; not through the limiter, where the process has not loaded
// that. One thread.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>

#include "limiter/driver/nvml.h"

namespace tessera::card {

class FirstDevice {
 public:
  // Null: there is none, or it has no device.
  static const FirstDevice* Open();

  nvmlDevice_t device() const { return device_; }
  std::string Uuid() const;
  uint64_t OfCard() const;                           // bytes in use
  std::map<unsigned, uint64_t> OfProcesses() const;  // likewise; 0: it is not told

  // Null: there is no such function.
  template <typename Function>
  Function* Of(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
#define NVML(nvml, name) (nvml).Of<decltype(::name)>(#name)

 private:
  FirstDevice();

  void* const library_;
  nvmlDevice_t device_ = nullptr;
};

}  // namespace tessera::card
