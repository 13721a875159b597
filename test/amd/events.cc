// SPDX-License-Identifier: Apache-2.0
#include "amd/events.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <string_view>

#include "os/files.h"

namespace tessera::amd {
namespace {

std::string PipeOf(const std::string& directory, uint64_t gpu_id) {
  return fmt::format("{}/.amd-events/{}", directory, gpu_id);
}

// Invalid: nobody listens.
os::Fd WriterOf(const std::string& directory, uint64_t gpu_id) {
  return os::Fd(open(PipeOf(directory, gpu_id).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace

os::Fd ListenTo(const std::string& directory, uint64_t gpu_id) {
  const std::string path = PipeOf(directory, gpu_id);
  const Status made = os::MakeDirectories(directory + "/.amd-events");
  if (!made) throw std::runtime_error(made.error().message);
  if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) {
    throw std::runtime_error("cannot make " + path);
  }
  // Open for both, as a pipe that is only read ends with its last writer.
  os::Fd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) throw std::runtime_error("cannot open " + path);
  return fd;
}

bool IsListenedTo(const std::string& directory, uint64_t gpu_id) {
  return WriterOf(directory, gpu_id).valid();
}

void TellEvent(const std::string& directory, uint64_t gpu_id, const std::string& line) {
  const os::Fd fd = WriterOf(directory, gpu_id);
  if (!fd.valid()) return;
  const std::string text = line + "\n";
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("an event does not fit");
  }
}

}  // namespace tessera::amd
