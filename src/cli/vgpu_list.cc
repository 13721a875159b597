// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_list.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "binding/binding_store.h"

namespace tessera::cli {
namespace {

// The containers of the agent's records. A record that cannot be read does not hide the others.
Result<std::vector<VgpuContainer>> GrantedContainers(const VgpuSources& sources) {
  // A directory that may not be read is an error, not an empty list.
  const auto there = os::Inspect(sources.state_dir + "/grants");
  if (!there && there.error().reason != Reason::kNotFound) return Fail(there.error());
  BindingStore store(sources.state_dir);
  std::vector<VgpuContainer> granted;
  if (!store.any()) return granted;
  for (const std::string& grant : TRY(store.Grants())) {
    const auto record = store.Find(grant);
    if (!record) {
      granted.push_back({.grant = grant, .problem = record.error()});
    } else if (*record != nullptr) {
      granted.push_back({.pod = (*record)->pod_uid,
                         .container = (*record)->container,
                         .grant = grant,
                         .resource = (*record)->resource,
                         .ids = (*record)->ids,
                         .parts = (*record)->parts,
                         .file = (*record)->directory + "/" + RegionNameOf(grant)});
    }
  }
  return granted;
}

bool IsMeasured(const VgpuContainer& container) {
  return !container.problem && container.region.maker == region::Maker::kTessera;
}

}  // namespace

void Sleep(Duration span) {
  std::this_thread::sleep_for(span);
}

Result<std::vector<VgpuContainer>> ListVgpus(const VgpuSources& sources) {
  const std::vector<VgpuContainer> granted = TRY(GrantedContainers(sources));
  const monitor::Places places{.root = sources.root, .directories = sources.directories};
  std::vector<VgpuContainer> before = TRY(monitor::ReadContainers(granted, places));
  if (sources.measured.count() == 0 || std::ranges::none_of(before, IsMeasured)) return before;
  sources.wait(sources.measured);
  std::vector<VgpuContainer> now = TRY(monitor::ReadContainers(granted, places));
  monitor::Compare(before, now);
  return now;
}

}  // namespace tessera::cli
