// SPDX-License-Identifier: Apache-2.0
#include "monitor/containers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "os/thread.h"
#include "region/file.h"

namespace tessera::monitor {
namespace {

using std::chrono::nanoseconds;

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The agent asks kubelet for the holders at least once a minute.
bool IsFresh(const std::string& directory) {
  constexpr Duration kFresh{120'000};
  const auto info = os::Inspect(directory);
  return info &&
         SystemClock().WallNow().time_since_epoch() - nanoseconds(info->changed_ns) < kFresh;
}

struct Reading {
  std::string name;  // of the file, safe to print
  region::Region region;
  std::vector<std::optional<bool>> alive;
};

// Opens the region below the directory and reads it. `wanted`: its name; empty: any.
Result<Reading> ReadRegion(const std::string& directory, const std::string& wanted) {
  const region::File file = TRY(region::File::OpenIn(directory, wanted));
  Reading reading{.name = file.name(), .region = TRY(file.Read()), .alive = {}};
  for (const region::Process& process : reading.region.processes) {
    // HAMi-core's processes hold no locks, so their life is unknown.
    const bool known = reading.region.maker == region::Maker::kTessera;
    reading.alive.push_back(known ? file.IsAlive(process.slot) : std::nullopt);
  }
  return reading;
}

// The process ended in order, but perhaps no other process of the container will return its memory
// in the region.
void Forget(region::Process& process, region::Region& region) {
  for (const region::ProcessUsage& held : process.held) {
    uint64_t& used = region.devices[held.device].used;
    used -= std::min(used, held.total);
  }
  process.held.clear();
}

class Listing {
 public:
  explicit Listing(const Places& places) : places_(places) {}

  Result<std::vector<Container>> Make(std::vector<Container> granted) {
    for (Container& container : granted) {
      if (container.problem || container.file.empty()) {
        containers_.push_back(std::move(container));
      } else {
        directories_[ParentOf(container.file)].push_back(std::move(container));
      }
    }
    TRY(FindDirectories());
    for (auto& [path, of] : directories_) Add(path, of);
    std::ranges::stable_sort(containers_, [](const Container& a, const Container& b) {
      return std::tie(a.pod, a.container, a.file) < std::tie(b.pod, b.container, b.file);
    });
    return std::move(containers_);
  }

 private:
  // Finds also HAMi's own directories, and those of grants without a record.
  Status FindDirectories() {
    for (const std::string& directory : places_.directories) {
      const std::string containers = directory + "/containers";
      const auto names = os::ListDirectory(places_.root.Path(containers));
      if (!names && names.error().reason == Reason::kNotFound) continue;
      if (!names) return Fail(names.error());
      for (const std::string& name : *names) {
        if (name.starts_with('.'))
          continue;  // the agent's own, such as leftovers of ended containers
        directories_.try_emplace(containers + "/" + name);
      }
    }
    return {};
  }

  void Add(const std::string& path, std::vector<Container>& granted) {
    for (Container& container : granted) Read(path, std::move(container));
    if (!granted.empty()) return;
    Container container{.container = region::PrintableName(FileName(path)), .file = path + "/"};
    // HAMi's form: POD_CONTAINER.
    const size_t bar = container.container.find('_');
    if (bar != std::string::npos) {
      container.pod = container.container.substr(0, bar);
      container.container.erase(0, bar + 1);
    }
    Read(path, std::move(container));
  }

  // A container can block reads of its directory.
  Result<Reading> Bounded(const std::string& directory, const std::string& wanted) {
    if (places_.each.count() == 0) return ReadRegion(directory, wanted);
    auto result = os::Within<Result<Reading>>(
        places_.each, [directory, wanted] { return ReadRegion(directory, wanted); });
    if (result) return *std::move(result);
    return Fail(Reason::kTimedOut, "its directory does not answer within {}",
                FormatDuration(places_.each));
  }

  void Read(const std::string& path, Container container) {
    if (places_.enter && !places_.enter(path)) {
      if (container.file.ends_with('/')) container.file.pop_back();
      container.problem = Error{Reason::kTimedOut, "its directory does not answer"};
      containers_.push_back(std::move(container));
      return;
    }
    container.fresh = IsFresh(places_.root.Path(path));
    auto reading = Bounded(places_.root.Path(path), std::string(FileName(container.file)));
    container.read_at = std::chrono::steady_clock::now();
    if (container.file.ends_with('/')) container.file.pop_back();
    if (reading) {
      Take(path, *std::move(reading), container);
    } else if (reading.error().reason == Reason::kNotFound) {
      container.problem =
          Error{Reason::kNotFound,
                "no region yet: no process of the container has used a GPU, or none has loaded the "
                "limiting library"};
    } else {
      container.problem = reading.error();
    }
    containers_.push_back(std::move(container));
  }

  static void Take(const std::string& path, Reading reading, Container& container) {
    container.file = path + "/" + reading.name;
    container.region = std::move(reading.region);
    container.alive = std::move(reading.alive);
    container.got.assign(container.region.devices.size(), std::nullopt);
    for (size_t i = 0; i < container.alive.size(); ++i) {
      region::Process& process = container.region.processes[i];
      if (process.ended && container.alive[i] == false) Forget(process, container.region);
    }
  }

  const Places& places_;
  std::map<std::string, std::vector<Container>> directories_;  // by path
  std::vector<Container> containers_;
};

// Our library limits by the grant, whatever the region says; HAMi-core limits by the region.
const Fraction* LimitingPart(const Container& container, const region::Device& device) {
  const bool by_grant = container.region.maker == region::Maker::kTessera;
  return by_grant ? PartOf(container, device.uuid) : nullptr;
}

}  // namespace

Result<std::vector<Container>> ReadContainers(std::vector<Container> granted,
                                              const Places& places) {
  return Listing(places).Make(std::move(granted));
}

void Compare(const std::vector<Container>& before, std::vector<Container>& now) {
  std::map<std::string_view, const Container*> by_file;
  for (const Container& container : before) {
    if (!container.problem) by_file[container.file] = &container;
  }
  for (Container& container : now) {
    const auto found = by_file.find(container.file);
    if (container.problem || found == by_file.end()) continue;
    const Container& earlier = *found->second;
    const auto passed =
        std::chrono::duration_cast<nanoseconds>(container.read_at - earlier.read_at).count();
    for (size_t i = 0; i < container.got.size() && i < earlier.region.devices.size(); ++i) {
      container.got[i] = region::ShareGot(earlier.region.devices[i], container.region.devices[i],
                                          static_cast<uint64_t>(passed));
    }
  }
}

std::pair<std::string, std::string> PodNameOf(const Container& container) {
  const size_t slash = container.pod_name.find('/');
  if (slash == std::string::npos) return {"", container.pod};
  return {container.pod_name.substr(0, slash), container.pod_name.substr(slash + 1)};
}

const Fraction* PartOf(const Container& container, std::string_view device) {
  const auto found = std::ranges::find(container.parts, device, &Fraction::device);
  return found == container.parts.end() ? nullptr : &*found;
}

uint64_t MemoryLimitOf(const Container& container, const region::Device& device) {
  const Fraction* part = LimitingPart(container, device);
  return part == nullptr ? device.limit : static_cast<uint64_t>(part->memory) << 20;
}

int CoresLimitOf(const Container& container, const region::Device& device) {
  const Fraction* part = LimitingPart(container, device);
  return part == nullptr ? device.percent : part->cores;
}

}  // namespace tessera::monitor
