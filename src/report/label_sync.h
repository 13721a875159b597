// SPDX-License-Identifier: Apache-2.0
// Keeps the node's labels equal to its devices, if configured. It reads and writes labels on its
// own workers, at each interval and soon after devices changed. Labels that cannot be read stay as
// last written. If the driver is gone for longer than kGrace, the node is labelled as one without
// devices. Owned by the agent. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/kind.h"
#include "backend/labeller.h"
#include "config/schema/config.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

using Labellers = std::vector<std::unique_ptr<Labeller>>;
// The labellers of all kinds.
Labellers LabellersOf(const Kinds& kinds, const config::Config& config);

class LabelSync {
 public:
  // How long the driver may be absent, for example during an update.
  static constexpr Duration kGrace{600'000};

  struct Surroundings {
    os::Loop& loop;
    // True if this instance is the one that writes.
    std::function<bool()> may_write;
    // Labels the node object; false if there is no API server.
    std::function<bool(const Labels&)> to_node = [](const Labels&) { return false; };
    std::function<Labellers(const config::Config&)> labellers;
    const Clock& clock = SystemClock();
    Duration settle{1'000};  // changes within it cause one reading
  };
  LabelSync(Surroundings at, const config::Config& config);
  // Removes the file if configured. Otherwise labels outlive the agent, so that its update does not
  // remove and restore them.
  ~LabelSync();
  LabelSync(const LabelSync&) = delete;
  LabelSync& operator=(const LabelSync&) = delete;

  // Adopts another configuration: reads all labels again. Removes the file or the node's labels if
  // they are no longer wanted.
  void Apply(const config::Config& config);
  // Devices changed, or this instance has become the writer.
  void ReadSoon();

 private:
  // The result of one reading of all kinds.
  struct Reading {
    Labels labels;               // those without devices, for kinds that failed
    std::optional<Error> error;  // of a kind that failed
  };
  static Reading ReadAll(const Labellers& labellers);

  void Read();
  void ReadEnded(unsigned generation, const Reading& told);
  void Write(const Labels& labels);
  void WriteEnded(unsigned generation, const Result<bool>& written);
  void ScheduleRead();
  bool ToFile() const;
  void LabelNode(const Labels& labels);
  void LeaveNode();
  bool Overdue(const Error& error);
  void LogOnce(std::string_view message, const Error& error);
  void RemoveFile();

  const Surroundings at_;
  config::LabelsConfig config_;
  std::string path_;  // the file, as this process sees it
  std::shared_ptr<const Labellers> labellers_;
  unsigned generation_ = 0;  // of the configuration; results of a former one are dropped
  bool busy_ = false;
  bool again_ = false;  // another reading was requested during this one
  std::optional<Steady> failing_since_;
  std::string refusal_;  // the logged cause of a failed reading or write
  std::optional<std::pair<std::string, Labels>> written_;  // path and labels
  std::optional<Labels> on_node_;                          // the labels last sent to the node
  os::Workers workers_{4};
  os::Alarm next_;
  os::Mailbox<LabelSync> mailbox_;
};

}  // namespace tessera
