// SPDX-License-Identifier: Apache-2.0
// Dummy devices: `dummy: {count: 64}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include "backend/dummy/dummy.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kDummy = kKindConfig<DummyConfig>;
constexpr auto kNode = [](auto& config, const At& at) -> auto& {
  return kDummy(config, at).nodes[at[1]];
};
constexpr auto kMount = [](auto& config, const At& at) -> auto& {
  return kDummy(config, at).mounts[at[1]];
};

Key NodesKey() {
  return {.name = "nodes",
          .type = Type::kList,
          .doc = "Device nodes that the container gets for each granted device.",
          .max = 64,
          .list = BindList(kDummy, &DummyConfig::nodes),
          .children = [] {
            return std::vector<Key>{
                {.name = "hostPath",
                 .type = Type::kPath,
                 .doc = "Path of the node on the host; `{id}` stands for the device's id.",
                 .example = "/dev/npu{id}",
                 .required = true,
                 .field = Bind(kNode, &DeviceNode::host_path)},
                {.name = "containerPath",
                 .type = Type::kPath,
                 .doc = "Path in the container; `{id}` stands for the device's id.",
                 .example = "/dev/npu{id}",
                 .default_note = "the same as `hostPath`",
                 .field = Bind(kNode, &DeviceNode::container_path)},
                {.name = "permissions",
                 .doc = "What the container may do with the node: letters of `r`, `w` and `m`.",
                 .example = "rw",
                 .check = CheckPermissions,
                 .field = Bind(kNode, &DeviceNode::permissions)},
            };
          }};
}

Key MountsKey() {
  return {.name = "mounts",
          .type = Type::kList,
          .doc = "Files or directories that the container gets mounted for each granted device.",
          .max = 64,
          .list = BindList(kDummy, &DummyConfig::mounts),
          .children = [] {
            return std::vector<Key>{
                {.name = "hostPath",
                 .type = Type::kPath,
                 .doc = "Path on the host; `{id}` stands for the device's id.",
                 .example = "/var/lib/npu/{id}",
                 .required = true,
                 .field = Bind(kMount, &Mount::host_path)},
                {.name = "containerPath",
                 .type = Type::kPath,
                 .doc = "Path in the container; `{id}` stands for the device's id.",
                 .example = "/npu/{id}",
                 .default_note = "the same as `hostPath`",
                 .field = Bind(kMount, &Mount::container_path)},
                {.name = "readOnly",
                 .type = Type::kBool,
                 .doc = "Whether the mount is read-only.",
                 .example = "false",
                 .field = Bind(kMount, &Mount::read_only)},
            };
          }};
}

std::vector<Key> DummyKeys() {
  const Choices<bool> reset = {{"never", false}, {"before-start", true}};
  return {
      {.name = "count",
       .type = Type::kInt,
       .doc = "The number of devices. Their ids are `0`, `1`, and so on.",
       .example = "64",
       .unit = "devices",
       .min = 0,
       .max = 65'536,
       .field = Bind(kDummy, &DummyConfig::count)},
      {.name = "numaNodes",
       .type = Type::kInt,
       .doc = "The number of NUMA nodes that the devices are spread over. `0`: the devices have no "
              "NUMA node.",
       .example = "2",
       .unit = "NUMA nodes",
       .min = 0,
       .max = 1024,
       .field = Bind(kDummy, &DummyConfig::numa_nodes)},
      NodesKey(),
      MountsKey(),
      {.name = "reset",
       .type = Type::kEnum,
       .doc = "Whether the devices are reset before every container start (PreStartContainer).",
       .example = "before-start",
       .values = NamesOf(reset),
       .effect = Effect::kRegister,
       .field = BindEnum(kDummy, &DummyConfig::reset_before_start, reset)},
      {.name = "faultFile",
       .type = Type::kPath,
       .doc = "The file of injected faults. Writing it injects them.",
       .example = "/run/tessera/npu-faults.json",
       .default_note = "`<state.dir>/dummy/<resource name with / as _>.json`",
       .field = Bind(kDummy, &DummyConfig::fault_file)},
  };
}

// "dummy.com/npu" -> "DUMMY_VISIBLE_DEVICES".
std::string VisibleDevices(std::string_view resource) {
  std::string out;
  for (char c : resource.substr(0, resource.find_first_of("./"))) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out += '_';
    out += lower ? static_cast<char>(c - 'a' + 'A') : digit ? c : '_';
  }
  return out.empty() ? "" : out + "_VISIBLE_DEVICES";
}

void Complete(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  if (resource.rendering.env.empty()) resource.rendering.env = VisibleDevices(resource.name);
  auto& dummy = *resource.kind.As<DummyConfig>();
  for (DeviceNode& node : dummy.nodes) {
    if (node.container_path.empty()) node.container_path = node.host_path;
  }
  for (Mount& mount : dummy.mounts) {
    if (mount.container_path.empty()) mount.container_path = mount.host_path;
  }
}

void CheckDummy(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const std::string& file = config.resources[index].kind.As<DummyConfig>()->fault_file;
  for (size_t other = 0; other < index && !file.empty(); ++other) {
    const auto* dummy = config.resources[other].kind.As<DummyConfig>();
    if (dummy == nullptr || dummy->fault_file != file) continue;
    findings.Report(Reason::kConfigDuplicate, path + ".faultFile",
                    fmt::format("{} is the file of resources[{}] already: each dummy resource "
                                "needs its own",
                                Quoted(file), other));
  }
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<DummyBackend>(resource.name, *resource.kind.As<DummyConfig>(),
                                        at.state_dir, at.loop, SystemClock());
}

Kind MakeKind() {
  return {.section = {.name = "dummy",
                      .type = Type::kSection,
                      .doc = "Devices that exist only in the agent, for trials.",
                      .choice = KindChoice<DummyConfig>(),
                      .children = DummyKeys},
          .is = IsKind<DummyConfig>,
          .complete = Complete,
          .check = CheckDummy,
          .make = Make};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::dummy {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::dummy
