// SPDX-License-Identifier: Apache-2.0
// The test's side of test/faults/preload.h. It makes the shared page, starts an agent with the
// library, and unmaps the page at its end. The file stays in the node's directory. Any thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "faults/preload.h"
#include "os/fd.h"

namespace tessera {

class PreloadControl {
 public:
  explicit PreloadControl(std::string path) : path_(std::move(path)) {
    os::Fd fd(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(ftruncate(fd.get(), sizeof(faults::Control)), 0);
    page_ = mmap(nullptr, sizeof(faults::Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(page_, MAP_FAILED);
  }
  ~PreloadControl() { munmap(page_, sizeof(faults::Control)); }
  PreloadControl(const PreloadControl&) = delete;
  PreloadControl& operator=(const PreloadControl&) = delete;

  // For NodeUnderTest::StartAgent.
  std::vector<std::string> Before() const {
    return {"/usr/bin/env", std::string("LD_PRELOAD=") + TESSERA_PRELOAD,
            std::string(faults::kControlVariable) + "=" + path_};
  }
  faults::Control* operator->() { return static_cast<faults::Control*>(page_); }
  uint32_t CountOf(faults::Call call) { return (*this)->counts[static_cast<int>(call)]; }

 private:
  const std::string path_;
  void* page_ = nullptr;
};

}  // namespace tessera
