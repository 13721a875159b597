// SPDX-License-Identifier: Apache-2.0
// A simulated node with Ascend chips as one text, which is all its state but its vNPUs. The fake
// libdcmi.so reads the text for each call, and tests change it. Plain data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::ascend {

// Paths below the node's directory.
inline constexpr char kDescriptionPath[] = "/fake-dcmi.txt";
inline constexpr char kVnpusPath[] = "/fake-dcmi.vnpus";  // a file for each vNPU, by its id
inline constexpr char kLibraryPath[] = "/usr/local/dcmi/libdcmi.so";

struct SimChip {
  int card = 0, device = 0;
  int logic = 0, phy = 0;
  std::string name = "910B3";  // DCMI's chip_name
  std::string version = "V1";
  unsigned cores = 20;
  std::array<uint32_t, 5> die{};  // all 0: the driver does not support the question
  std::string address;            // "0000:c1:00.0"
  uint32_t pci_device = 0xd802;
  uint64_t memory = 65536;  // MiB
  bool has_hbm = true;      // false: DDR
  int numa = -1;
  std::string cpus;  // near it, "144-167"; empty: unknown
  bool absent = false;
  uint32_t health = 0;
  std::vector<uint32_t> codes{};
  bool operator==(const SimChip&) const = default;
};

// How calls fail or hang in place of answering. An empty function is each one; card -1 is each
// card.
struct SimFault {
  std::string function;
  int card = -1;
  int code = 0;  // 0: the call hangs while the fault stands
  bool operator==(const SimFault&) const = default;
};

// An event for those who have subscribed.
struct SimEvent {
  uint32_t id = 0;
  int logic = 0;
  int severity = 0;
  int assertion = 1;
  bool operator==(const SimEvent&) const = default;
};

struct SimNode {
  std::vector<SimChip> chips;
  int die_policy = -1;  // -1: the driver does not support the question
  std::string driver = "25.2.0";
  bool chooses = false;  // the driver refuses numbers of vNPUs that others choose
  std::vector<SimFault> faults{};
  std::vector<SimEvent> events{};  // all so far
  bool operator==(const SimNode&) const = default;
};

// The node has no such chip, function or name.
struct BadChange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string TextOf(const SimNode& node);
// Throws BadChange if the text is not TextOf's.
SimNode ParseNode(const std::string& text);

struct SimVnpu {
  uint32_t id = 0;
  int phy = 0;
  std::string name;  // of its template
  bool used = false;
};
std::string TextOf(const SimVnpu& vnpu);
// Reads the file at `path`. Throws BadChange.
SimVnpu ReadVnpu(const std::string& path);
// The AI cores of a template: 10 of "vir10_3c_32g". 0: it is none.
unsigned CoresOf(const std::string& name);

// The whole file; empty if it is not there.
std::string ReadText(const std::string& path);
// Replaces the file, and makes its directories. Throws std::runtime_error.
void WriteText(const std::string& path, const std::string& text);

}  // namespace tessera::ascend
