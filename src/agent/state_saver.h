// SPDX-License-Identifier: Apache-2.0
// Writes the node's facts and this boot's verdicts to disk, and reads them when the agent starts or
// becomes the writer. Falls are written before kubelet's list: after a crash, the saved state is
// never healthier than kubelet's. An instance without the lock writes no state. Owned by the agent.
// One thread: the loop's.
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

  // Reads an earlier process's state, and becomes the writer if no other instance is.
  void Restore(const std::string& boot_id);
  // Tries to become the writer; true if this call succeeded. The caller must then Load the former
  // writer's state, and SaveAll.
  bool TryToBecomeWriter();
  struct Saved {
    std::optional<Facts> facts;
    Verdicts verdicts;
  };
  Saved Load();

  // Writes the verdicts, if one of them is an unsaved fall.
  void SaveFalls();
  // Writes the facts; waits for the disk.
  Status SaveFacts();
  void SaveAll();
  // True if this writer has unsaved state: SaveAll is due.
  bool unsaved() const { return writer() && !IsWhole(); }

  bool writer() const { return store_.writer(); }
  bool another_writes() const { return store_.another_writes(); }
  // kStateLocked if this instance is not the writer: a person's order would be lost.
  Status MaySave() const;
  // Why the last write failed, or why this instance cannot write. Nothing while another instance is
  // the writer.
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
  std::optional<Error> failure_;  // the logged failure of the last write
};

}  // namespace tessera::agent
