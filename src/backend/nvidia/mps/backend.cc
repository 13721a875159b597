// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mps/backend.h"

#include "base/log.h"
#include "os/files.h"

namespace tessera::nvidia {
namespace {

constexpr Duration kPoll{2'000};      // until the directory is there
constexpr size_t kLongest = 1 << 20;  // more than any status has

}  // namespace

MpsBackend::MpsBackend(std::string directory, std::shared_ptr<Backend> gpus, os::Loop& loop)
    : directory_(std::move(directory)),
      boot_(os::ReadBootId().value_or("")),
      gpus_(std::move(gpus)),
      loop_(loop) {}

Status MpsBackend::Start(BackendEvents& events) {
  events_ = &events;
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] { Changed(); });
  if (watch) {
    watch_ = *std::move(watch);
    watch_->Watch({directory_});
  } else {
    log::Warn("MPS is watched by checks only", watch.error(), {{"directory", directory_}});
  }
  return gpus_->Start(events);
}

void MpsBackend::Stop() {
  watch_.reset();
  events_ = nullptr;
  gpus_->Stop();
}

Result<MpsStatus> MpsBackend::ReadStatus() const {
  return ParseMpsStatus(TRY(os::ReadFile(directory_ + "/" + kMpsStatusFile, kLongest)));
}

// `tessera mps` writes the file often; only a new state or daemon leads to checks.
void MpsBackend::Changed() {
  const Result<MpsStatus> status = ReadStatus();
  const std::pair now =
      status ? std::pair(status->state, status->pid) : std::pair(MpsState::kDown, 0);
  if (std::exchange(told_, now) == now || events_ == nullptr) return;
  events_->RescanSoon();
}

Evidence MpsBackend::Check(const Device& device) {
  Evidence evidence = gpus_->Check(device);
  // A GPU that is not good has a better reason.
  if (evidence.kind != EvidenceKind::kGood) return evidence;
  const Steady now = SystemClock().Now();
  return MpsTrouble(ReadStatus(), boot_, now, device.key.id).value_or(std::move(evidence));
}

}  // namespace tessera::nvidia
