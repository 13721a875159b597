// SPDX-License-Identifier: Apache-2.0
// The vNPUs that this agent makes, in a directory of its state: a file for each grant, written
// before a vNPU is made. So a later agent knows which vNPUs are the agent's own, and destroys no
// other. All resources share the directory. Any thread; a change of a file is one step for all
// threads of the process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/ascend/dcmi.h"
#include "base/result.h"

namespace tessera::ascend {

enum class VnpuState : uint8_t {
  kAsked,    // the driver is being asked for it, or the agent ended meanwhile
  kMade,     // the driver has made it
  kUndoing,  // it is being destroyed
  kLost,     // it was seen missing, so one of its number is another program's
};

struct OwnVnpu {
  dcmi::Place place{};           // of its chip
  std::optional<uint32_t> id{};  // null: the driver chooses it, and has not told it yet
  std::string name{};            // of its template
  std::string device{};          // the id of the device that it is for
  std::string pod{};             // the UID of its grant's pod
  VnpuState state = VnpuState::kAsked;
  bool operator==(const OwnVnpu&) const = default;
};

struct VnpuRecord {
  std::string boot{};  // the kernel's boot id; a vNPU of another boot is not the agent's own
  std::vector<OwnVnpu> vnpus{};
  bool operator==(const VnpuRecord&) const = default;
};

// By grant and device.
using OwnVnpus = std::map<std::pair<std::string, std::string>, OwnVnpu>;

std::string TextOf(const VnpuRecord& record);
// kStateCorrupt.
Result<VnpuRecord> ParseVnpuRecord(std::string_view text);

// A failed read is an error: a vNPU that is not known as the agent's own is another program's.
class VnpuRecords {
 public:
  explicit VnpuRecords(std::string directory) : directory_(std::move(directory)) {}

  // Empty if there is none. kStateCorrupt, kIo.
  Result<VnpuRecord> Read(const std::string& grant) const;
  Status Remove(const std::string& grant) const;
  // Writes the vNPU of a device down, in place of an earlier one of this grant and device.
  Status Put(const std::string& grant, const OwnVnpu& vnpu) const;
  Status Drop(const std::string& grant, const std::string& device) const;
  // Marks the vNPU as lost, if its record is still the one given. Returns whether it was.
  Result<bool> Lose(const std::string& grant, const OwnVnpu& vnpu) const;
  // All of this boot.
  Result<OwnVnpus> Now() const;

 private:
  std::string PathOf(const std::string& grant) const;
  Status Write(const std::string& grant, const VnpuRecord& record) const;

  const std::string directory_;
};

}  // namespace tessera::ascend
