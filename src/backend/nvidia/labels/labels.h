// SPDX-License-Identifier: Apache-2.0
// The labels of a node with NVIDIA GPUs. Names and values are those of NVIDIA's GPU feature
// discovery 0.20; docs/reference/labels.md lists each, and the differences. Pure; plain data; any
// thread.
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

// A GPU's place in an NVLink fabric of several nodes.
struct Clique {
  std::string cluster{};  // a UUID in lower case
  uint32_t id = 0;
  bool operator==(const Clique&) const = default;
};

struct GpuFacts {
  std::string model{};
  uint64_t memory_mib = 0;  // 0: unknown, as is a compute capability of 0.0
  int compute_major = 0;    // negative: cannot be known
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
  std::optional<std::string> machine{};  // the firmware's name of the machine
  std::vector<GpuFacts> gpus{};
  std::optional<bool> vgpu{};  // whether it has a virtual GPU; null: unknown
  std::optional<HostDriver> host{};
  bool operator==(const NodeFacts&) const = default;
};

enum class MigStrategy : uint8_t { kNone, kSingle, kMixed };
enum class SharingStrategy : uint8_t { kNone, kTimeSlicing, kMps };

// How the devices of a resource are shared.
struct Sharing {
  SharingStrategy strategy = SharingStrategy::kNone;
  int replicas = 1;
  bool renamed = false;  // the resource's name differs from the one that NVIDIA's plugin gives it
  bool operator==(const Sharing&) const = default;
};

// The labels' part of the configuration.
struct LabelPolicy {
  MigStrategy mig_strategy = MigStrategy::kNone;
  bool mps = false;  // any resource is shared by MPS
  Sharing gpus{};    // also for MIG devices with the strategy "single"
  // For MIG devices with the strategy "mixed": patterns of profiles; the first match counts.
  std::vector<std::pair<std::string, Sharing>> profiles{};
  bool operator==(const LabelPolicy&) const = default;
};

// `timestamp`: seconds since 1970, the time of this reading of the configuration; null: no label.
Labels MakeLabels(const NodeFacts& facts, const LabelPolicy& policy,
                  std::optional<int64_t> timestamp);

// The text as a label's value: words of letters, digits, "-", "_" and ".", joined by "-".
std::string Sanitised(std::string_view text);
// The longest start of the text that can be a label's value: at most `most` characters, with a
// letter or digit at both ends.
std::string Cut(std::string_view text, size_t most);

// "ampere" for 8.0; "undefined" for an unknown version.
std::string_view FamilyOf(int compute_major, int compute_minor);

}  // namespace tessera::nvidia
