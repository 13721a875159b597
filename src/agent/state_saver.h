// SPDX-License-Identifier: Apache-2.0
// Writes to disk what the node knows, and reads it when the agent starts or becomes the writer: the
// facts, and the verdicts of this boot. Falls are written before kubelet's list, so that the next
// start never reads better of a device than kubelet was told. Without the lock nothing is written.
// Owned by the agent. One thread: the loop's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/state_store.h"
#include "http/metrics.h"
#include "node/node.h"

namespace tessera::agent {

class StateSaver {
 public:
  // Both outlive it.
  StateSaver(Node& node, http::Metrics& metrics, const std::string& state_dir);

  // Reads what an earlier process saved, and becomes the writer if nobody else is.
  void Restore(const std::string& boot_id);
  // Tries to become the writer; true when this call made it so. What another instance wrote
  // meanwhile is to be read then (Load), and all that is held here to be written.
  bool TryToBecomeWriter();
  struct Saved {
    std::optional<Facts> facts;
    Verdicts verdicts;
  };
  Saved Load();

  // Only verdicts, and only if one of them is a fall.
  void SaveFalls();
  // Only the facts, which take a disk's time.
  Status SaveFacts();
  void SaveAll();
  // Whether something that could be written is not: SaveAll is to be called soon.
  bool unsaved() const { return writer() && !IsWhole(); }

  bool writer() const { return store_.writer(); }
  bool another_writes() const { return store_.another_writes(); }
  // kStateLocked while an order of a person's would be lost, as another instance writes.
  Status MaySave() const;
  // Why the last write failed, or nothing can be written; nothing while another instance writes.
  std::optional<Error> fault() const;

 private:
  Status WriteVerdicts();
  Status WriteFacts();
  std::string AllVerdicts() const;
  bool IsWhole() const;
  Status LogResult(const Status& written);

  Node& node_;
  http::Metrics& metrics_;
  StateStore store_;
  std::string boot_id_;
  uint64_t saved_facts_ = 0;      // their generation
  std::optional<Error> failure_;  // of the last write, as it was logged
};

}  // namespace tessera::agent
