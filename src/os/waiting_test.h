// SPDX-License-Identifier: Apache-2.0
// Helpers to test calls that block. Header-only, so the product contains none of it.
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "os/process.h"

namespace tessera::os {

// Runs a call on its own thread. After construction the call is blocked in state `state`, or has
// ended. 'D' is a wait for a file's lock.
class WaitingCall {
 public:
  explicit WaitingCall(std::function<void()> call, char state = 'S')
      : thread_([this, call = std::move(call)] {
          id_ = gettid();
          call();
        }) {
    while (id_ == 0) sched_yield();
    for (;;) {
      const std::vector<std::string> stat = StatOf("self/task/" + std::to_string(id_));
      if (stat.empty() || stat[0][0] == state) return;
      sched_yield();
    }
  }
  ~WaitingCall() { Join(); }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;

  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

// A write to a file that stays in progress until destruction, as a container can cause. Meanwhile
// the kernel blocks other writes, truncation and removal.
class HeldFile {
 public:
  explicit HeldFile(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)),
        faults_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))),
        page_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    uffdio_register all{.range = Range(), .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
    if (!file_.valid() || ioctl(faults_.get(), UFFDIO_API, &api) != 0 ||
        ioctl(faults_.get(), UFFDIO_REGISTER, &all) != 0) {
      return;
    }
    // The write blocks on a source page that is never provided.
    write_ = std::make_unique<std::thread>(
        [this] { (void)!syscall(SYS_pwrite64, file_.get(), page_, kSize, 0); });
    pollfd fault{.fd = faults_.get(), .events = POLLIN, .revents = 0};
    poll(&fault, 1, -1);
  }
  ~HeldFile() {
    if (write_ != nullptr) {
      uffdio_zeropage given{.range = Range(), .mode = 0, .zeropage = 0};
      ioctl(faults_.get(), UFFDIO_ZEROPAGE, &given);
      write_->join();
    }
    munmap(page_, kSize);
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // False if this user or kernel does not support it.
  bool is_held() const { return write_ != nullptr; }

 private:
  static constexpr size_t kSize = 4096;
  uffdio_range Range() const { return {reinterpret_cast<uint64_t>(page_), kSize}; }

  const Fd file_;
  const Fd faults_;
  void* const page_;
  std::unique_ptr<std::thread> write_;
};

}  // namespace tessera::os
