// SPDX-License-Identifier: Apache-2.0
// The journal of preparations: one file each in the state directory, so that the next agent knows
// everything that an agent leaves behind. Each step is written before it is taken. So an entry may
// claim more than was done, never less. One agent instance has the journal at a time. Any thread,
// but only one at a time per entry; waits for disks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/preparer.h"
#include "base/result.h"
#include "os/files.h"
#include "os/lock.h"

namespace tessera {

enum class PrepareStep : uint8_t {
  kPreparing,    // begun; any part of it may be done
  kPrepared,     // done; containers may use it
  kUnpreparing,  // must be undone
};

// One preparation: for one container, or for several of a pod that have the same shares.
struct Preparation {
  std::string grant{};  // the entry's name: one of `grants`
  std::vector<std::string> grants{};
  std::string resource{};
  std::string preparer{};  // Preparer::name
  std::string pod_uid{};
  std::vector<std::string> share_ids{};  // natural order
  std::vector<std::string> devices{};    // ids, natural order
  // Names of the hardware that the devices take for themselves, the same for all resources.
  std::vector<std::string> hardware{};
  std::string boot_id{};   // the boot in which it was prepared
  std::string cdi_dir{};   // directory of the grants' documents
  std::string cdi_kind{};  // kind of the CDI devices in them
  PrepareStep step = PrepareStep::kPreparing;
  Prepared prepared{};  // set at kPrepared
  cdi::Edits edits{};   // the containers' edits, set at kPrepared
  bool operator==(const Preparation&) const = default;
};
std::string PreparationText(const Preparation& preparation);
// kStateCorrupt if the text is no entry; kStateNewer if a newer agent wrote it.
Result<Preparation> ReadPreparation(std::string_view text);

// The readable rest of a corrupt entry. Devices that the entry may concern are not granted.
struct UnreadPreparation {
  Error why;                           // kJournalUnreadable, names the file
  std::string resource{};              // empty: any resource
  std::vector<std::string> devices{};  // empty: all of the resource
  std::vector<std::string> hardware{};
  bool operator==(const UnreadPreparation&) const = default;
};

class Journal {
 public:
  explicit Journal(const std::string& state_dir) : directory_(state_dir + "/prepared") {}

  const std::string& directory() const { return directory_; }
  // False if there is surely no entry.
  bool any() const { return os::Exists(directory_); }
  // Takes the journal for this instance. kStateLocked while another instance has it.
  Result<os::FileLock> Lock() const;

  struct Contents {
    std::vector<Preparation> entries{};
    std::map<std::string, UnreadPreparation> unreadable{};  // by grant
  };
  Result<Contents> Read() const;
  // One entry again.
  Result<Preparation> ReadOne(const std::string& grant) const;
  // Tests that an entry can be written now.
  Status Check() const;
  // Replaces the entry; it is on disk at the return.
  Status Write(const Preparation& preparation) const;
  Status Remove(const std::string& grant) const;
  std::string PathOf(const std::string& grant) const;

 private:
  const std::string directory_;
};

// For a node without a running agent: an error that tells what is left and who undoes it. Nothing:
// the journal is empty.
std::optional<Error> LeftIn(const Journal& journal);

}  // namespace tessera
