// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/hardware.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "os/files.h"

namespace tessera::demo {
namespace {

// How messages name a library, and where it comes from.
struct Library {
  std::string_view name;
  std::string_view advice;
};
constexpr Library kNvml = {
    "the fake NVML",
    "build it with tools/build release fake_nvml and name it with --nvml, or run tools/demo, which "
    "does both"};
constexpr Library kFiles = {
    "the library of simulated nodes",
    "build it with tools/build release fake_node, or run tools/demo, which does so"};
constexpr char kNvidia[] = "nvidia";

const Library& LibraryOf(const std::set<std::string>& kinds) {
  return kinds.contains(kNvidia) ? kNvml : kFiles;
}

// The library reports all errors of the description.
std::set<std::string> KindsIn(std::string_view description) {
  std::set<std::string> kinds;
  for (const std::string& line : Split(description, '\n')) {
    for (const std::string key : kNodeKeys) {
      if (line.starts_with(key + ":")) kinds.insert(key);
    }
  }
  if (kinds.empty()) kinds.insert(kNvidia);
  return kinds;
}

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

Result<std::unique_ptr<Hardware>> Hardware::Open(const HardwareLibraries& libraries,
                                                 const std::string& description) {
  Result<std::string> text = os::ReadFile(description);
  if (!text)
    return Fail(text.error().reason, "--hardware: {}; demo/hardware has files to use",
                text.error().message);
  std::set<std::string> kinds = KindsIn(*text);
  const Library& library = LibraryOf(kinds);
  const std::string& named = kinds.contains(kNvidia) ? libraries.nvml : libraries.node;
  // A path with a slash makes the loader take this file without a search.
  const std::string path = named.find('/') == std::string::npos ? "./" + named : named;
  if (!os::Exists(path)) {
    return Fail(Reason::kNotFound, "there is no {}, {} that --hardware needs: {}", path,
                library.name, library.advice);
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
    return Fail(Reason::kInvalid, "cannot load {}: {}; {}", library.name,
                why == nullptr ? path : why, library.advice);
  }
  std::unique_ptr<Hardware> hardware(
      new Hardware(std::move(kinds), handle, path, description, *std::move(text)));
  hardware->devices_ = TRY(hardware->Call(kMakeNode, hardware->text_, true));
  if (hardware->devices_.empty()) {
    return Fail(Reason::kInvalid,
                "{} describes no GPU: it needs a list 'gpus' (docs/how-to/develop-a-plugin.md)",
                description);
  }
  return hardware;
}

HardwareLibraries Hardware::LibrariesBeside(const std::string& program) {
  const std::string directory = program.substr(0, program.rfind('/'));
  const std::string nvml = kNvmlPath;
  return {.nvml = directory + nvml.substr(nvml.rfind('/')), .node = directory + "/" + kNodeLibrary};
}

Hardware::~Hardware() {
  dlclose(handle_);
}

bool Hardware::has_parts() const {
  return std::ranges::any_of(devices_, [](const HardwareDevice& device) {
    return device.index.find(':') != std::string::npos;
  });
}

bool Hardware::is_wsl() const {
  return devices_.front().id == "all";
}

Status Hardware::Install(const std::string& directory) {
  if (kinds_.contains(kNvidia)) {
    const std::string to = directory + kNvmlPath;
    TRY(os::MakeDirectories(to.substr(0, to.rfind('/'))));
    const std::string library = TRY(os::ReadFile(library_));
    TRY(os::ReplaceFile(to, library));
  }
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
    const Library& library = LibraryOf(kinds_);
    return Fail(Reason::kInvalid, "{} is not {} of this version of Tessera: {}", library_,
                library.name, library.advice);
  }
  const char* answer = "";
  if (call(directory_.c_str(), text.c_str(), only_ask, &answer)) return ReadDevices(answer);
  return Fail(Reason::kInvalid, "{}: {}", function == kMakeNode ? name_ : "the scenario", answer);
}

}  // namespace tessera::demo
