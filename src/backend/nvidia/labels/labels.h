// SPDX-License-Identifier: Apache-2.0
// What a node with NVIDIA GPUs says of itself in labels: the names and values of NVIDIA's GPU
// feature discovery 0.20 (docs/reference/labels.md has each, and where this differs). Pure; plain
// data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/labeller.h"
#include "backend/nvidia/labels/vgpu.h"
#include "backend/nvidia/mig/mig.h"

namespace tessera::nvidia {

// Where a GPU is in a fabric of NVLinks that is of several nodes.
struct Clique {
  std::string cluster{};  // a UUID, in lower case
  uint32_t id = 0;
  bool operator==(const Clique&) const = default;
};

struct GpuFacts {
  std::string model{};
  uint64_t memory_mib = 0;  // 0: not known, as is a compute capability of 0.0
  int compute_major = 0;    // negative: nobody can know
  int compute_minor = 0;
  std::optional<uint32_t> pci_class{};  // 0x030200
  bool knows_mig = false;
  Mig mig{};
  std::optional<Clique> clique{};
  bool operator==(const GpuFacts&) const = default;
};

struct NodeFacts {
  std::string driver{};                  // "570.172.08"
  int cuda = 0;                          // 12080; 0: not known
  std::optional<std::string> machine{};  // what the firmware calls it
  std::vector<GpuFacts> gpus{};
  std::optional<bool> vgpu{};  // whether it has a virtual GPU; nothing: not known
  std::optional<HostDriver> host{};
  bool operator==(const NodeFacts&) const = default;
};

enum class MigStrategy : uint8_t { kNone, kSingle, kMixed };
enum class SharingStrategy : uint8_t { kNone, kTimeSlicing, kMps };

// How devices of a resource are shared.
struct Sharing {
  SharingStrategy strategy = SharingStrategy::kNone;
  int replicas = 1;
  bool renamed = false;  // the resource has another name than NVIDIA's plugin gives it
  bool operator==(const Sharing&) const = default;
};

// What the configuration makes of GPUs.
struct LabelPolicy {
  MigStrategy mig_strategy = MigStrategy::kNone;
  bool mps = false;  // any resource is shared by it
  Sharing gpus{};    // also of MIG devices by the strategy "single"
  // Of MIG devices by "mixed": patterns of profiles, of which the first that fits counts.
  std::vector<std::pair<std::string, Sharing>> profiles{};
  bool operator==(const LabelPolicy&) const = default;
};

// `timestamp`: seconds since 1970 at which this reading of the configuration began; nothing: it is
// left out.
Labels MakeLabels(const NodeFacts& facts, const LabelPolicy& policy,
                  std::optional<int64_t> timestamp);

// What the value of a label may be made of: words of letters, digits, "-", "_" and ".", with "-"
// between them.
std::string Sanitised(std::string_view text);
// Its beginning that can be a label's value: at most so many characters, a letter or digit at both
// ends.
std::string Cut(std::string_view text, size_t most);

// "ampere" for 8.0; "undefined" for what is none.
std::string_view FamilyOf(int compute_major, int compute_minor);

}  // namespace tessera::nvidia
