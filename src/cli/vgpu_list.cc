// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <tuple>

#include "base/text.h"
#include "binding/binding_store.h"
#include "os/thread.h"
#include "region/file.h"

namespace tessera::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// A container with its open file during the measurement.
struct Watched {
  VgpuContainer container;
  std::shared_ptr<const region::File> file{};
  steady_clock::time_point read_at{};
};

// A container can block reads of its directory.
constexpr Duration kFileLimit{2'000};

template <class T>
Result<T> Bounded(std::function<Result<T>()> task) {
  auto result = os::Within(kFileLimit, std::move(task));
  if (result) return *std::move(result);
  return Fail(Reason::kTimedOut, "its directory does not answer within {}",
              FormatDuration(kFileLimit));
}

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

class Listing {
 public:
  explicit Listing(const VgpuSources& sources) : sources_(sources), store_(sources.state_dir) {}

  Result<std::vector<VgpuContainer>> Make() {
    TRY(ReadGrants());
    TRY(FindDirectories());
    for (const auto& [path, grants] : directories_) Add(path, grants);
    Measure();
    std::vector<VgpuContainer> containers;
    for (Watched& watched : watched_) containers.push_back(std::move(watched.container));
    std::ranges::stable_sort(containers, [](const VgpuContainer& a, const VgpuContainer& b) {
      return std::tie(a.pod, a.container, a.file) < std::tie(b.pod, b.container, b.file);
    });
    return containers;
  }

 private:
  using Grants = std::vector<std::pair<std::string, BindingRecordPtr>>;  // by name

  // A record that cannot be read does not hide the others.
  Status ReadGrants() {
    // A directory that may not be read is an error, not an empty list.
    const auto there = os::Inspect(sources_.state_dir + "/grants");
    if (!there && there.error().reason != Reason::kNotFound) return Fail(there.error());
    if (!store_.any()) return {};
    for (const std::string& grant : TRY(store_.Grants())) {
      const auto record = store_.Find(grant);
      if (!record) {
        watched_.push_back({.container = {.grant = grant, .problem = record.error()}});
      } else if (*record != nullptr) {
        directories_[(*record)->directory].emplace_back(grant, *record);
      }
    }
    return {};
  }

  // Finds also HAMi's own directories, and those of grants without a record.
  Status FindDirectories() {
    for (const std::string& directory : sources_.directories) {
      const std::string containers = directory + "/containers";
      const auto names = os::ListDirectory(sources_.root.Path(containers));
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

  void Add(const std::string& path, const Grants& grants) {
    if (grants.empty()) {
      VgpuContainer container{.container = std::string(FileName(path)), .file = path};
      // HAMi's form: POD_CONTAINER.
      const size_t bar = container.container.find('_');
      if (bar != std::string::npos) {
        container.pod = container.container.substr(0, bar);
        container.container.erase(0, bar + 1);
      }
      return Open(path, "", std::move(container));
    }
    for (const auto& [grant, record] : grants) {
      const std::string region = RegionNameOf(grant);
      Open(path, region,
           {.pod = record->pod_uid,
            .container = record->container,
            .grant = grant,
            .resource = record->resource,
            .ids = record->ids,
            .parts = record->parts,
            .file = path + "/" + region});
    }
  }

  void Open(const std::string& path, const std::string& wanted, VgpuContainer container) {
    Watched watched{.container = std::move(container)};
    watched.container.fresh = IsFresh(sources_.root.Path(path));
    auto file = Bounded<region::File>(
        [parent = sources_.root.Path(ParentOf(path)), name = std::string(FileName(path)), wanted] {
          return region::File::Open(parent, name, wanted);
        });
    if (file) {
      watched.container.file = path + "/" + file->name();
      watched.file = std::make_shared<const region::File>(*std::move(file));
    } else if (file.error().reason == Reason::kNotFound) {
      watched.container.problem =
          Error{Reason::kNotFound,
                "there is no region yet: no program of the container has used a GPU, or none has "
                "the limiting library"};
    } else {
      watched.container.problem = file.error();
    }
    watched_.push_back(std::move(watched));
  }

  void Measure() {
    for (Watched& watched : watched_) Read(watched);
    const bool any =
        std::ranges::any_of(watched_, [](const Watched& watched) { return Counts(watched); });
    if (!any || sources_.measured.count() == 0) return;
    sources_.wait(sources_.measured);
    for (Watched& watched : watched_) {
      if (Counts(watched)) ReadAgain(watched);
    }
  }

  static bool Counts(const Watched& watched) {
    return watched.file && !watched.container.problem &&
           watched.container.region.maker == region::Maker::kTessera;
  }

  static void Read(Watched& watched) {
    if (!watched.file) return;
    VgpuContainer& container = watched.container;
    auto read = Bounded<region::Region>([file = watched.file] { return file->Read(); });
    watched.read_at = steady_clock::now();
    if (!read) {
      container.problem = read.error();
      return;
    }
    container.region = *std::move(read);
    container.got.assign(container.region.devices.size(), std::nullopt);
    container.alive.clear();
    for (region::Process& process : container.region.processes) {
      // HAMi-core's processes hold no locks, so their life is unknown.
      const bool known = container.region.maker == region::Maker::kTessera;
      container.alive.push_back(known ? watched.file->IsAlive(process.slot) : std::nullopt);
      if (process.ended && container.alive.back() == false) Forget(process, container);
    }
  }

  // The process ended in order, but perhaps no other process of the container will return its
  // memory in the region.
  static void Forget(region::Process& process, VgpuContainer& container) {
    for (const region::ProcessUsage& held : process.held) {
      uint64_t& used = container.region.devices[held.device].used;
      used -= std::min(used, held.total);
    }
    process.held.clear();
  }

  static void ReadAgain(Watched& watched) {
    const std::vector<region::Device> before = watched.container.region.devices;
    const auto read_before = watched.read_at;
    Read(watched);
    const auto passed =
        std::chrono::duration_cast<nanoseconds>(watched.read_at - read_before).count();
    const std::vector<region::Device>& after = watched.container.region.devices;
    for (size_t i = 0; i < watched.container.got.size() && i < before.size(); ++i) {
      watched.container.got[i] =
          region::ShareGot(before[i], after[i], static_cast<uint64_t>(passed));
    }
  }

  const VgpuSources& sources_;
  BindingStore store_;
  std::map<std::string, Grants> directories_;  // by path
  std::vector<Watched> watched_;
};

}  // namespace

void Sleep(Duration span) {
  std::this_thread::sleep_for(span);
}

Result<std::vector<VgpuContainer>> ListVgpus(const VgpuSources& sources) {
  return Listing(sources).Make();
}

}  // namespace tessera::cli
