// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/smi_events.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "backend/sysfs.h"
#include "base/text.h"
#include "os/lent_fds.h"

namespace tessera::amd {
namespace {

// The kernel's structure and number of AMDKFD_IOC_SMI_EVENTS.
struct SmiEventsArgs {
  uint32_t gpu_id = 0;  // to the kernel
  uint32_t stream = 0;  // from the kernel: a descriptor
};
constexpr unsigned long kIoctl = _IOWR('K', 0x1f, SmiEventsArgs);

constexpr uint64_t Bit(SmiEvent event) {
  return uint64_t{1} << (static_cast<unsigned>(event) - 1);
}
constexpr uint64_t kMask =
    Bit(SmiEvent::kThrottled) | Bit(SmiEvent::kBeforeReset) | Bit(SmiEvent::kAfterReset);
constexpr Duration kLimit{2'000};

// In the child.
class StreamOpener final : public os::LentOpener {
 public:
  // Both outlive it.
  StreamOpener(const char* path, const std::vector<uint64_t>& gpu_ids)
      : path_(path), gpu_ids_(gpu_ids) {}

  int Open(size_t number) override {
    if (kfd_ < 0) kfd_ = open(path_, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    SmiEventsArgs args{.gpu_id = static_cast<uint32_t>(gpu_ids_[number])};
    if (kfd_ < 0 || ioctl(kfd_, kIoctl, &args) != 0) return -errno;
    const int stream = static_cast<int>(args.stream);
    if (fcntl(stream, F_SETFL, O_NONBLOCK) != 0) return -errno;
    const ssize_t written = write(stream, &kMask, sizeof(kMask));
    if (written == sizeof(kMask)) return stream;
    return written < 0 ? -errno : -EIO;
  }

 private:
  const char* const path_;
  const std::vector<uint64_t>& gpu_ids_;
  int kfd_ = -1;  // ends with the child
};

}  // namespace

std::optional<SmiEvent> ParseSmiEvent(std::string_view line) {
  const auto number = sysfs::Number<uint64_t>(line.substr(0, line.find(' ')), 16);
  if (!number || *number < 2 || *number > 4) return std::nullopt;
  return static_cast<SmiEvent>(*number);
}

std::vector<Result<os::Fd>> OpenSmiEvents(const os::Root& root,
                                          const std::vector<uint64_t>& gpu_ids) {
  const std::string path = root.Path("/dev/kfd");
  std::vector<Result<os::Fd>> streams;
  if (!os::Exists(path)) {
    const Error error{Reason::kNotFound, path + " is not there"};
    for (size_t i = 0; i < gpu_ids.size(); ++i) streams.emplace_back(Fail(error));
    return streams;
  }
  StreamOpener opener(path.c_str(), gpu_ids);
  auto opened = os::OpenInChild(opener, gpu_ids.size(), kLimit);
  for (size_t i = 0; i < gpu_ids.size(); ++i) {
    Result<os::Fd> stream = opened ? std::move((*opened)[i]) : Fail(opened.error());
    if (!stream) stream = Fail(stream.error().In("asking for events of " + path));
    streams.push_back(std::move(stream));
  }
  return streams;
}

SmiEvents::SmiEvents(os::Loop& loop, Open open, Heard heard, const Clock& clock)
    : loop_(loop), open_(std::move(open)), heard_(std::move(heard)), clock_(clock) {}

void SmiEvents::Follow(const std::map<std::string, std::vector<uint64_t>>& gpus) {
  wanted_.clear();
  for (const auto& [address, ids] : gpus) {
    for (const uint64_t id : ids) wanted_.emplace(id, address);
  }
  std::erase_if(streams_, [&](const auto& stream) { return !wanted_.contains(stream.first); });
  std::erase_if(troubles_, [&](const auto& trouble) { return !gpus.contains(trouble.first); });
  OpenMissing();
}

void SmiEvents::Stop() {
  Follow({});
  mailbox_.reset();
}

void SmiEvents::OpenMissing() {
  if (opening_ || !mailbox_) return;
  std::vector<uint64_t> missing;
  bool is_new = false;
  for (const auto& [id, address] : wanted_) {
    if (streams_.contains(id)) continue;
    missing.push_back(id);
    is_new = is_new || !failed_.contains(id);
  }
  if (missing.empty() || (!is_new && clock_.Now() < retry_at_)) return;
  opening_ = true;
  workers_.Run([open = open_, missing, done = mailbox_->Bind(&SmiEvents::Opened)] {
    done(missing, std::make_shared<Streams>(open(missing)));
  });
}

// The GPUs may be others than when it began. Streams of those that are gone end here.
void SmiEvents::Opened(const std::vector<uint64_t>& gpu_ids,
                       const std::shared_ptr<Streams>& streams) {
  opening_ = false;
  failed_.clear();
  troubles_.clear();
  for (size_t i = 0; i < gpu_ids.size(); ++i) {
    const uint64_t id = gpu_ids[i];
    const auto wanted = wanted_.find(id);
    if (wanted == wanted_.end()) continue;
    const std::string& address = wanted->second;
    if (!(*streams)[i]) {
      failed_.insert(id);
      troubles_.insert_or_assign(address, (*streams)[i].error());
      continue;
    }
    Stream& stream = streams_.emplace(id, Stream{.fd = *std::move((*streams)[i])}).first->second;
    stream.watch = loop_.WhenReadable(stream.fd.get(), [this, id, address] { Read(id, address); });
  }
  if (failed_.empty()) {
    pause_ = kShortestPause;
  } else {
    retry_at_ = clock_.Now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }
  OpenMissing();
}

// `heard` may change the streams, so it is called last.
void SmiEvents::Read(uint64_t gpu_id, const std::string& address) {
  constexpr size_t kLongestLine = 4'096;
  const auto found = streams_.find(gpu_id);
  if (found == streams_.end()) return;  // it has just ended
  Stream& stream = found->second;
  std::array<char, 4'096> buffer{};
  const ssize_t size = read(stream.fd.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    // The driver is gone, and another is opened soon. This runs in the stream's own watch,
    // which ends later.
    loop_.Post([ended = std::make_shared<Stream>(std::move(stream))] {});
    streams_.erase(found);
    return;
  }
  stream.rest.append(buffer.data(), static_cast<size_t>(size));
  std::vector<SmiEvent> events;
  for (size_t end; (end = stream.rest.find('\n')) != std::string::npos;) {
    const auto event = ParseSmiEvent(std::string_view(stream.rest).substr(0, end));
    if (event) events.push_back(*event);
    stream.rest.erase(0, end + 1);
  }
  if (stream.rest.size() > kLongestLine) stream.rest.clear();
  const std::string of = address;
  for (const SmiEvent event : events) heard_(of, event);
}

}  // namespace tessera::amd
