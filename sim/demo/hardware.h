// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs from a description file. The fake NVML, a library of its own, makes and changes the
// files of their node. Owned by the caller that plays; one thread.
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
  // Loads the library and reads the description, without making files. An error says what to do.
  static Result<std::unique_ptr<Hardware>> Open(const std::string& library,
                                                const std::string& description);
  // The library's default path, next to the program.
  static std::string LibraryBeside(const std::string& program);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;

  // In NVML's order, as described.
  const std::vector<HardwareDevice>& devices() const { return devices_; }
  bool has_mig() const;
  bool is_wsl() const;  // all GPUs are one device, which the kernel's driver does not describe

  // Makes the node below this directory, with the library.
  Status Install(const std::string& directory);
  // The devices of a change, or why it is impossible. Ask and Make: after Install.
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
  const std::string name_;  // the description's
  const std::string text_;
  std::string directory_;
  std::vector<HardwareDevice> devices_;
};

}  // namespace tessera::demo
