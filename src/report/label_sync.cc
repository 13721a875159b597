// SPDX-License-Identifier: Apache-2.0
#include "report/label_sync.h"

#include "base/log.h"
#include "os/files.h"
#include "report/label_file.h"

namespace tessera {
namespace {

constexpr Duration kFirst{5'000};  // the first reading, even without a scan

}  // namespace

Labellers LabellersOf(const Kinds& kinds, const config::Config& config) {
  Labellers labellers;
  for (const Kind& kind : kinds) {
    if (kind.labels != nullptr) labellers.push_back(kind.labels->Make(config));
  }
  return labellers;
}

LabelSync::LabelSync(Surroundings at, const config::Config& config)
    : at_(std::move(at)), next_(at_.loop, [this] { Read(); }), mailbox_(at_.loop, *this) {
  Apply(config);
}

LabelSync::~LabelSync() {
  if (config_.remove_on_exit) RemoveFile();
}

void LabelSync::Apply(const config::Config& config) {
  ++generation_;
  busy_ = again_ = false;
  config_ = config.labels;
  path_ = os::Root(config.root_prefix).Path(config_.file);
  const bool off = config_.output == config::LabelsOutput::kOff;
  if (written_ && (off || written_->first != path_)) RemoveFile();
  if (off || config_.output == config::LabelsOutput::kFile) LeaveNode();
  // The new labellers are made first, because they take over the former ones' knowledge. A worker
  // destroys the former ones, because they may wait for their threads.
  auto former = std::exchange(labellers_, nullptr);
  if (!off) labellers_ = std::make_shared<const Labellers>(at_.labellers(config));
  if (former != nullptr) workers_.Run([former = std::move(former)] {});
  next_.Cancel();
  if (!off) next_.RingWithin(kFirst);
}

void LabelSync::ReadSoon() {
  if (labellers_ == nullptr) return;
  again_ = true;
  if (!busy_) next_.RingWithin(at_.settle);
}

LabelSync::Reading LabelSync::ReadAll(const Labellers& labellers) {
  Reading told;
  for (const auto& labeller : labellers) {
    Result<Labels> read = labeller->Read();
    if (!read) told.error = read.error();
    told.labels.merge(read ? *std::move(read) : labeller->WithoutDevices());
  }
  return told;
}

void LabelSync::Read() {
  next_.RingWithin(os::UntilBeat(config_.sleep_interval));
  if (busy_) return workers_.GoOn();
  busy_ = true;
  again_ = false;
  workers_.Run(
      [labellers = labellers_, generation = generation_,
       came = mailbox_.Bind(&LabelSync::ReadEnded)] { came(generation, ReadAll(*labellers)); });
}

void LabelSync::ReadEnded(unsigned generation, const Reading& told) {
  if (generation != generation_) return;
  if (told.error && !Overdue(*told.error)) return ScheduleRead();
  if (!told.error) failing_since_.reset();
  if (!at_.may_write()) return ScheduleRead();
  ToFile() ? Write(told.labels) : LabelNode(told.labels);
}

// A released driver returns, so its absence is never overdue.
bool LabelSync::Overdue(const Error& error) {
  if (error.reason == Reason::kReleased) return false;
  LogOnce("cannot read the node's labels; the published ones stay for a while", error);
  if (!failing_since_) failing_since_ = at_.clock.Now();
  return at_.clock.Now() - *failing_since_ >= kGrace;
}

bool LabelSync::ToFile() const {
  if (config_.output != config::LabelsOutput::kAuto) {
    return config_.output == config::LabelsOutput::kFile;
  }
  return os::Exists(path_.substr(0, path_.rfind('/')));
}

// Each key has one owner, so labels on the node replace the file.
void LabelSync::LabelNode(const Labels& labels) {
  RemoveFile();
  // The API server's thread checks that the node still has them.
  if (on_node_ == labels) return ScheduleRead();
  on_node_.reset();
  if (at_.to_node(labels)) {
    on_node_ = labels;
    return ScheduleRead();
  }
  LogOnce("the node is not labelled",
          Error{Reason::kNotFound,
                "no API server is configured (docs/reference/api-server.md), and there is no "
                "directory of " +
                    path_ + ": node feature discovery is not installed, or not mounted"});
  ScheduleRead();
}

void LabelSync::Write(const Labels& labels) {
  // For the same reason the file replaces labels on the node.
  if (config_.output == config::LabelsOutput::kAuto && !written_) {
    on_node_.reset();
    (void)at_.to_node({});
  }
  written_.emplace(path_, labels);
  workers_.Run([path = path_, labels, generation = generation_,
                wrote = mailbox_.Bind(&LabelSync::WriteEnded)] {
    wrote(generation, WriteLabelFile(path, labels));
  });
}

void LabelSync::LeaveNode() {
  if (std::exchange(on_node_, std::nullopt)) (void)at_.to_node({});
}

void LabelSync::WriteEnded(unsigned generation, const Result<bool>& written) {
  if (generation != generation_) return;
  if (!written) {
    LogOnce("cannot write the node's labels", written.error());
  } else {
    if (*written) {
      log::Info("wrote the node's labels", {{"path", path_}, {"labels", written_->second.size()}});
    }
    if (!failing_since_) refusal_.clear();
  }
  ScheduleRead();
}

void LabelSync::ScheduleRead() {
  busy_ = false;
  if (again_) next_.RingWithin(at_.settle);
}

void LabelSync::LogOnce(std::string_view message, const Error& error) {
  if (error.message == refusal_) return;
  refusal_ = error.message;
  log::Warn(message, error);
}

void LabelSync::RemoveFile() {
  if (!written_) return;
  if (const Status removed = RemoveLabelFile(written_->first, written_->second); !removed) {
    log::Warn("cannot remove the node's labels", removed.error());
  }
  written_.reset();
}

}  // namespace tessera
