// SPDX-License-Identifier: Apache-2.0
// The hardware of a description file. A library, for NVIDIA's GPUs the fake NVML, makes and changes
// the files of its node. Owned by the caller that plays; one thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/demo/hardware_api.h"
#include "sim/demo/observation.h"
#include "sim/demo/scenario.h"

namespace tessera::demo {

// The paths of the libraries.
struct HardwareLibraries {
  std::string nvml{};
  std::string node{};  // for nodes that are files
};

class Hardware {
 public:
  // Reads the description and loads the library for it, without making files. An error says what to
  // do.
  static Result<std::unique_ptr<Hardware>> Open(const HardwareLibraries& libraries,
                                                const std::string& description);
  // The default paths, next to the program.
  static HardwareLibraries LibrariesBeside(const std::string& program);
  ~Hardware();
  Hardware(const Hardware&) = delete;
  Hardware& operator=(const Hardware&) = delete;

  // In the driver's order, as described.
  const std::vector<HardwareDevice>& devices() const { return devices_; }
  // The kinds of resources that it is for: "nvidia", or keys of the description.
  const std::set<std::string>& kinds() const { return kinds_; }
  bool has_parts() const;  // MIG devices, partitions or virtual functions
  bool is_wsl() const;     // all GPUs are one device, which the kernel's driver does not describe

  // Makes the node below this directory, with the library.
  Status Install(const std::string& directory);
  // The devices of a change, or why it is impossible. Ask and Make: after Install.
  Result<std::vector<HardwareDevice>> Ask(const ChangeHardware& change) const;
  Status Make(const ChangeHardware& change) const;

 private:
  Hardware(std::set<std::string> kinds, void* handle, std::string library, std::string name,
           std::string text)
      : kinds_(std::move(kinds)),
        handle_(handle),
        library_(std::move(library)),
        name_(std::move(name)),
        text_(std::move(text)) {}
  Result<std::vector<HardwareDevice>> Call(const char* function, const std::string& text,
                                           bool only_ask) const;
  Result<std::vector<HardwareDevice>> Change(const ChangeHardware& change, bool only_ask) const;

  const std::set<std::string> kinds_;
  void* const handle_;  // of dlopen
  const std::string library_;
  const std::string name_;  // the description's
  const std::string text_;
  std::string directory_;
  std::vector<HardwareDevice> devices_;
};

}  // namespace tessera::demo
