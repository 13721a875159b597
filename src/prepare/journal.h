// SPDX-License-Identifier: Apache-2.0
// What is prepared for grants, a file each below the state directory, so that whatever an agent
// leaves behind is known to the next one. A file is written whole before what it says is done: an
// entry may tell of more than there is, never of less. One instance of the agent has the journal at
// a time. Any thread, but one at a time for each entry; it waits for disks.
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
  kPreparing,    // it has begun, and may have got anywhere
  kPrepared,     // it is done, and containers may have it
  kUnpreparing,  // it is to be undone
};

// What is prepared for one container, or for several of a pod that have the same shares.
struct Preparation {
  std::string grant{};  // the entry's name: one of `grants`
  std::vector<std::string> grants{};
  std::string resource{};
  std::string preparer{};  // Preparer::name
  std::string pod_uid{};
  std::vector<std::string> share_ids{};  // natural order
  std::vector<std::string> devices{};    // their ids, likewise
  // What they take to themselves, by names that all resources give it alike.
  std::vector<std::string> hardware{};
  std::string boot_id{};   // of the kernel that it was prepared under
  std::string cdi_dir{};   // where the grants' documents are
  std::string cdi_kind{};  // of the CDI devices in them
  PrepareStep step = PrepareStep::kPreparing;
  Prepared prepared{};  // once it is
  cdi::Edits edits{};   // all that the containers get, likewise
  bool operator==(const Preparation&) const = default;
};
std::string PreparationText(const Preparation& preparation);
// kStateCorrupt when it is none, kStateNewer when it is a newer agent's.
Result<Preparation> ReadPreparation(std::string_view text);

// What an entry says that cannot be read: the devices that it may be about are given to nobody.
struct UnreadPreparation {
  Error why;                           // kJournalUnreadable, with the file
  std::string resource{};              // empty: it may be any
  std::vector<std::string> devices{};  // empty: they may be all of the resource
  std::vector<std::string> hardware{};
  bool operator==(const UnreadPreparation&) const = default;
};

class Journal {
 public:
  explicit Journal(const std::string& state_dir) : directory_(state_dir + "/prepared") {}

  const std::string& directory() const { return directory_; }
  // Whether there may be an entry.
  bool any() const { return os::Exists(directory_); }
  // Makes the journal this instance's. kStateLocked while another one has it.
  Result<os::FileLock> Lock() const;

  struct Contents {
    std::vector<Preparation> entries{};
    std::map<std::string, UnreadPreparation> unreadable{};  // by the grant
  };
  Result<Contents> Read() const;
  // Whether an entry could be written now.
  Status Check() const;
  // On the disk when it returns, in the place of what was there.
  Status Write(const Preparation& preparation) const;
  Status Remove(const std::string& grant) const;
  std::string PathOf(const std::string& grant) const;

 private:
  const std::string directory_;
};

// What is left in it while no agent runs, and who undoes that; nothing: it is empty.
std::optional<Error> LeftIn(const Journal& journal);

}  // namespace tessera
