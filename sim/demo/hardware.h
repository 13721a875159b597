// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs that a file describes: the files of their node, made and changed by the fake
// NVML, which is a library of its own and no part of the program. Owned by whoever plays; one
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/demo/hardware_api.h"
#include "sim/demo/observation.h"
#include "sim/demo/scenario.h"

namespace tessera::demo {

class Hardware {
 public:
  // Loads the library and reads the description; nothing is made yet. An error says what to do.
  static Result<std::unique_ptr<Hardware>> Open(const std::string& library,
                                                const std::string& description);
  // Where the library is when nobody says: beside the program.
  static std::string LibraryBeside(const std::string& program);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;

  // As described, in NVML's order.
  const std::vector<HardwareDevice>& devices() const { return devices_; }
  bool has_mig() const;
  bool is_wsl() const;  // all GPUs are one device, which the kernel's driver does not tell of

  // Makes the node below this directory, library included.
  Status Install(const std::string& directory);
  // The devices that a change is about; an error when it cannot be. Both: after Install.
  Result<std::vector<HardwareDevice>> Ask(const ChangeHardware& change) const;
  Status Make(const ChangeHardware& change) const;

 private:
  Hardware(void* handle, std::string library, std::string name, std::string text)
      : handle_(handle),
        library_(std::move(library)),
        name_(std::move(name)),
        text_(std::move(text)) {}
  Result<std::vector<HardwareDevice>> Call(const char* function, const std::string& text,
                                           bool only_ask) const;
  Result<std::vector<HardwareDevice>> Change(const ChangeHardware& change, bool only_ask) const;

  void* const handle_;  // of dlopen
  const std::string library_;
  const std::string name_;  // of the description
  const std::string text_;
  std::string directory_;
  std::vector<HardwareDevice> devices_;
};

}  // namespace tessera::demo
