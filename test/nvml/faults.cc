// SPDX-License-Identifier: Apache-2.0
#include "nvml/faults.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "nvml/yaml.h"

namespace tessera::nvml {
namespace {

constexpr char kAll[] = "all";

std::string FunctionIn(const Yaml& yaml) {
  static constexpr std::string_view kKnown[] = {
      kAll,
#define NVML_FUNCTION(name, symbol, ...) #symbol,
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
      // In processes.cc: not the agent but programs in a container call them.
      "nvmlDeviceGetComputeRunningProcesses_v3",
      "nvmlDeviceGetProcessUtilization",
  };
  auto function = yaml.As<std::string>();
  if (std::ranges::count(kKnown, function) == 0) {
    yaml.Refuse(fmt::format("{} is no function of NVML that the agent calls", function));
  }
  return function;
}

CallFaults ReadCalls(const Yaml& yaml) {
  CallFaults calls;
  for (const auto& [function, code] : yaml["fail"].entries()) {
    calls.fail[FunctionIn(function)] = Return{code.As<int>()};
  }
  if (yaml["lost"].Or<bool>(false)) calls.fail[kAll] = Return::kGpuIsLost;
  if (yaml["reset-required"].Or<bool>(false)) calls.fail[kAll] = Return::kResetRequired;
  const Yaml& hang = yaml["hang"];
  if (hang.IsScalar()) calls.hang.insert(FunctionIn(hang));
  for (const Yaml& function : hang.items()) calls.hang.insert(FunctionIn(function));
  calls.slow_ms = yaml["slow"].Or<int>(0);
  return calls;
}

GpuFaults ReadGpu(const Yaml& yaml) {
  yaml.CheckKeys("a GPU with faults",
                 {"fail", "hang", "slow", "lost", "reset-required", "ecc", "ecc-corrected", "remap",
                  "retired", "clocks", "links-down"});
  GpuFaults gpu;
  gpu.calls = ReadCalls(yaml);
  gpu.ecc_uncorrected = yaml["ecc"].Or<uint64_t>(0);
  gpu.ecc_corrected = yaml["ecc-corrected"].Or<uint64_t>(0);
  if (const Yaml& remap = yaml["remap"]) {
    remap.CheckKeys("\"remap\"", {"corrected", "uncorrected", "pending", "failed"});
    gpu.remap_corrected = remap["corrected"].Or<unsigned>(0);
    gpu.remap_pending = remap["pending"].Or<unsigned>(0);
    gpu.remap_uncorrected = remap["uncorrected"].Or<unsigned>(gpu.remap_pending);
    gpu.remap_failed = remap["failed"].Or<unsigned>(0);
  }
  gpu.retired_pending = yaml["retired"].Or<bool>(false);
  gpu.clock_reasons = yaml["clocks"].Or<uint64_t>(0);
  for (const Yaml& link : yaml["links-down"].items()) gpu.links_down.insert(link.As<unsigned>());
  return gpu;
}

}  // namespace

Return CallFaults::FailureOf(const std::string& function) const {
  for (const std::string& name : {function, std::string(kAll)}) {
    if (const auto it = fail.find(name); it != fail.end()) return it->second;
  }
  return Return::kSuccess;
}

bool CallFaults::Hangs(const std::string& function) const {
  return hang.contains(function) || hang.contains(kAll);
}

const GpuFaults& Faults::Of(unsigned gpu) const {
  static const GpuFaults kNone;
  const auto it = gpus.find(gpu);
  return it == gpus.end() ? kNone : it->second;
}

Faults ParseFaults(const std::string& text) {
  const Yaml yaml = Yaml::Parse(text);
  Faults faults;
  if (!yaml.IsMap()) return faults;
  yaml.CheckKeys("a node with faults", {"driver", "gpus", "events", "no-dxg"});
  yaml["driver"].CheckKeys("a driver with faults",
                           {"fail", "hang", "slow", "lost", "reset-required"});
  if (yaml["driver"]) faults.driver = ReadCalls(yaml["driver"]);
  for (const auto& [gpu, faults_of_gpu] : yaml["gpus"].entries()) {
    faults.gpus[gpu.As<unsigned>()] = ReadGpu(faults_of_gpu);
  }
  for (const Yaml& item : yaml["events"].items()) {
    item.CheckKeys("an event", {"gpu", "type", "xid", "gi", "ci"});
    faults.events.push_back({.gpu = item["gpu"].As<unsigned>(),
                             .type = item["type"].Or<uint64_t>(kXidCriticalError),
                             .xid = item["xid"].Or<uint64_t>(0),
                             .gpu_instance = item["gi"].Or<unsigned>(kNoInstance),
                             .compute_instance = item["ci"].Or<unsigned>(kNoInstance)});
  }
  faults.no_dxg = yaml["no-dxg"].Or<bool>(false);
  return faults;
}

bool ReadText(const std::string& path, std::string& text) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char part[4096];
  ssize_t size = 0;
  while ((size = read(file, part, sizeof part)) > 0) text.append(part, static_cast<size_t>(size));
  close(file);
  return size == 0;
}

DirectoryChanges::DirectoryChanges(const std::string& path)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                IN_MOVED_TO | IN_MOVE_SELF;
  told_ = inotify_add_watch(inotify_, path.c_str(), kChanges) >= 0;
}

DirectoryChanges::~DirectoryChanges() {
  close(inotify_);
}

// Every call of NVML comes here, on several threads at once. Without new events, no thread waits
// for another.
uint64_t DirectoryChanges::Count() {
  int unread = 0;
  if (told_ && ioctl(inotify_, FIONREAD, &unread) == 0 && unread == 0) return count_;
  std::lock_guard lock(mutex_);
  // The count rises before the events are read: a thread that finds the kernel's queue empty must
  // see the new count.
  ++count_;
  alignas(inotify_event) char events[4096];
  ssize_t size = 0;
  while (told_ && (size = read(inotify_, events, sizeof events)) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      // The directory was moved or removed: another may take its place, and inotify cannot see it.
      if ((event->mask & (IN_IGNORED | IN_MOVE_SELF)) != 0) told_ = false;
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  }
  return count_;
}

void DirectoryChanges::Suspect() {
  ++count_;
}

WatchedFile::WatchedFile(std::string path, std::shared_ptr<DirectoryChanges> changes)
    : path_(std::move(path)), changes_(std::move(changes)) {}

FileState WatchedFile::Now() {
  // The count is taken before stat(): a change between the two makes the next count differ.
  const uint64_t count = changes_->Count();
  {
    std::shared_lock lock(mutex_);
    if (count == seen_) return state_;
  }
  std::lock_guard lock(mutex_);
  struct stat info{};
  const bool there = stat(path_.c_str(), &info) == 0;
  state_ = there ? FileState{info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec} : FileState();
  seen_ = count;
  return state_;
}

std::shared_ptr<const Faults> FaultFile::Now() {
  const FileState now = file_.Now();
  {
    std::shared_lock lock(mutex_);
    if (now == read_) return faults_;
  }
  std::lock_guard lock(mutex_);
  if (now == read_) return faults_;
  read_ = now;
  std::string text;
  try {
    (void)ReadText(path_, text);  // without a file the text is empty: no faults
    faults_ = std::make_shared<Faults>(ParseFaults(text));
  } catch (const std::exception& error) {
    fprintf(stderr, "fake NVML: %s: %s\n", path_.c_str(), error.what());
  }
  return faults_;
}

}  // namespace tessera::nvml
