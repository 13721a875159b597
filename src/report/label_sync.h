// SPDX-License-Identifier: Apache-2.0
// Keeps the node's labels as its devices are, where the configuration wants that: read and written
// on workers of their own, every interval and soon after devices changed. What cannot be read now
// stays as it was told last; a driver that has been gone for long is told as a node without
// devices. One thread: the loop's.
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
// Those of all kinds of devices.
Labellers LabellersOf(const Kinds& kinds, const config::Config& config);

class LabelSync {
 public:
  // For so long the driver may be gone, as while another one is installed.
  static constexpr Duration kGrace{600'000};

  struct Surroundings {
    os::Loop& loop;
    // Whether this instance is the one that writes, of several.
    std::function<bool()> may_write;
    // Has the node itself labelled; false where there is no API server to be told.
    std::function<bool(const Labels&)> to_node = [](const Labels&) { return false; };
    std::function<Labellers(const config::Config&)> labellers;
    const Clock& clock = SystemClock();
    Duration settle{1'000};  // several changes within it make one reading
  };
  LabelSync(Surroundings at, const config::Config& config);
  // The file is removed where the configuration says so: else labels outlive the agent, so that
  // they do not come and go with an update of it.
  ~LabelSync();
  LabelSync(const LabelSync&) = delete;
  LabelSync& operator=(const LabelSync&) = delete;

  // Another configuration: all is read anew. What it does not want any more, a file or labels of
  // the node, is removed.
  void Apply(const config::Config& config);
  // Devices changed, or this instance may write now.
  void ReadSoon();

 private:
  // What one reading of all kinds came to.
  struct Reading {
    Labels labels;               // without devices of those that failed
    std::optional<Error> error;  // of one that did
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
  std::string path_;  // of the file, as this process sees it
  std::shared_ptr<const Labellers> labellers_;
  unsigned generation_ = 0;  // of the configuration: what was begun by a former one does not count
  bool busy_ = false;
  bool again_ = false;  // asked for meanwhile
  std::optional<Steady> failing_since_;
  std::string refusal_;  // why nothing can be read or written, as the log last said
  std::optional<std::pair<std::string, Labels>> written_;  // where, and what
  std::optional<Labels> on_node_;                          // what the node itself was given
  os::Workers workers_{4};
  os::Alarm next_;
  os::Mailbox<LabelSync> mailbox_;
};

}  // namespace tessera
