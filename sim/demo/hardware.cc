// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/hardware.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "os/files.h"

namespace tessera::demo {
namespace {

constexpr char kAdvice[] =
    "build it with tools/build release fake_nvml and name it with --nvml, or run tools/demo, which "
    "does both";

// "INDEX ID MEMORY NAME" a line.
std::vector<HardwareDevice> ReadDevices(std::string_view answer) {
  std::vector<HardwareDevice> devices;
  for (const std::string& line : Split(answer, '\n')) {
    const size_t id = line.find(' ');
    if (id == std::string::npos) continue;
    const size_t memory = line.find(' ', id + 1);
    if (memory == std::string::npos) continue;
    const size_t name = line.find(' ', memory + 1);
    if (name == std::string::npos) continue;
    HardwareDevice& device = devices.emplace_back();
    device.index = line.substr(0, id);
    device.id = line.substr(id + 1, memory - id - 1);
    device.name = line.substr(name + 1);
    std::from_chars(line.data() + memory + 1, line.data() + name, device.memory);
  }
  return devices;
}

}  // namespace

Result<std::unique_ptr<Hardware>> Hardware::Open(const std::string& library,
                                                 const std::string& description) {
  Result<std::string> text = os::ReadFile(description);
  if (!text)
    return Fail(text.error().reason, "--hardware: {}; demo/hardware has some that ship",
                text.error().message);
  // A path with a slash makes the loader take this file without a search.
  const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
  if (!os::Exists(path)) {
    return Fail(Reason::kNotFound, "there is no {}, the fake NVML that --hardware needs: {}", path,
                kAdvice);
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
    return Fail(Reason::kInvalid, "cannot load the fake NVML: {}; {}", why == nullptr ? path : why,
                kAdvice);
  }
  std::unique_ptr<Hardware> hardware(new Hardware(handle, path, description, *std::move(text)));
  hardware->devices_ = TRY(hardware->Call(kMakeNode, hardware->text_, true));
  if (hardware->devices_.empty()) {
    return Fail(Reason::kInvalid,
                "{} describes no GPU: it needs a list 'gpus' (docs/how-to/develop-a-plugin.md)",
                description);
  }
  return hardware;
}

std::string Hardware::LibraryBeside(const std::string& program) {
  const std::string path = kNvmlPath;
  return program.substr(0, program.rfind('/')) + path.substr(path.rfind('/'));
}

Hardware::~Hardware() {
  dlclose(handle_);
}

bool Hardware::has_mig() const {
  return std::ranges::any_of(devices_, [](const HardwareDevice& device) {
    return device.index.find(':') != std::string::npos;
  });
}

bool Hardware::is_wsl() const {
  return devices_.front().id == "all";
}

Status Hardware::Install(const std::string& directory) {
  const std::string to = directory + kNvmlPath;
  TRY(os::MakeDirectories(to.substr(0, to.rfind('/'))));
  const std::string library = TRY(os::ReadFile(library_));
  TRY(os::ReplaceFile(to, library));
  directory_ = directory;
  TRY(Call(kMakeNode, text_, false));
  return {};
}

Result<std::vector<HardwareDevice>> Hardware::Ask(const ChangeHardware& change) const {
  return Change(change, true);
}

Status Hardware::Make(const ChangeHardware& change) const {
  TRY(Change(change, false));
  return {};
}

Result<std::vector<HardwareDevice>> Hardware::Change(const ChangeHardware& change,
                                                     bool only_ask) const {
  const bool mig = change.what == ChangeHardware::What::kMig;
  return Call(mig ? kSetMig : kSetFaults, change.yaml, only_ask);
}

Result<std::vector<HardwareDevice>> Hardware::Call(const char* function, const std::string& text,
                                                   bool only_ask) const {
  auto* call = reinterpret_cast<HardwareCall*>(dlsym(handle_, function));
  if (call == nullptr) {
    return Fail(Reason::kInvalid, "{} is not the fake NVML of this version of Tessera: {}",
                library_, kAdvice);
  }
  const char* answer = "";
  if (call(directory_.c_str(), text.c_str(), only_ask, &answer)) return ReadDevices(answer);
  return Fail(Reason::kInvalid, "{}: {}", function == kMakeNode ? name_ : "the scenario", answer);
}

}  // namespace tessera::demo
