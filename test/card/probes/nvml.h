// SPDX-License-Identifier: Apache-2.0
// NVML as the probes see it: the loader's libnvidia-ml.so.1, and what it is asked. One thread.
#pragma once

#include <string>

#include "backend/nvidia/nvml/api.h"

namespace tessera::card {

struct Nvml {
  void* library = nullptr;
  nvml::Api api{};

  // False, and a row, where there is none, or where it does not start.
  bool Load();
  bool Start();

  std::string Text(nvml::Return code) const;  // "error 3, Not Supported"
  unsigned Count() const;
};

// Which events may be asked for, one by one and as the agent does.
void AskEvents(const Nvml& nvml);
// Who is on each GPU, by every version of the functions that tell, and how busy it is.
void AskProcesses(const Nvml& nvml);

}  // namespace tessera::card
