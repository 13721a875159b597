// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_node.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace tessera::fake_cuda {
namespace {

// Hides the limits of the container in which the test itself runs: they are none of the fake node.
// Once a process suffices, because its children inherit the mount namespace.
void HideLimitsOfTheMachine() {
  constexpr char kDirectory[] = "/run/tessera";
  if (!std::filesystem::exists(kDirectory) || std::filesystem::is_empty(kDirectory)) return;
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", kDirectory, "tmpfs", 0, nullptr) != 0) {
    throw std::runtime_error(
        "this machine has limits in /run/tessera, and only root can hide them");
  }
}

}  // namespace

Library::Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());  // NOLINT(concurrency-mt-unsafe)
}

void* Library::Find(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) throw std::runtime_error(std::string("there is no ") + symbol);
  return found;
}

std::string CudaNode::LibraryPath() {
  return TESSERA_FAKE_CUDA_LIBRARY;
}

CudaNode::CudaNode(const std::string& hardware) {
  HideLimitsOfTheMachine();
  std::string name = std::filesystem::temp_directory_path() / "cuda_node.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory " + name);
  directory_ = name;
  const std::string description = directory_ + "/fake-nvml.yaml";
  std::filesystem::copy_file(std::string(TESSERA_HARDWARE "/") + hardware + ".yaml", description);
  Set("TESSERA_FAKE_NVML", description);
  Set("TESSERA_FAKE_CUDA", directory_);
}

CudaNode::~CudaNode() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

// The child ends by _exit: the test program's exit handlers are its parent's.
pid_t CudaNode::Start(const std::function<void(const Library&)>& body) const {
  fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  for (const auto& [name, value] : environment_) {
    setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  int code = 0;
  try {
    const Library library(LibraryPath());
    body(library);
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    code = 2;
  }
  fflush(nullptr);
  _exit(code);
}

bool CudaNode::Run(const std::function<void(const Library&)>& body) const {
  const pid_t child = Start(body);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tessera::fake_cuda
