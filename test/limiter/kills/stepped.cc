// SPDX-License-Identifier: Apache-2.0
#include "test/limiter/kills/stepped.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tessera::limiter {
namespace {

constexpr uint64_t kBreakpoint = 0xcc;
constexpr uint8_t kReturn = 0xc3;
constexpr uint8_t kCall = 0xe8;  // call of a function of the same object
constexpr uint64_t kCallSize = 5;

void Fail(const char* what) {
  perror(what);
  exit(1);
}

// ptrace returns the word of the tracee as its result.
uint64_t Word(pid_t pid, uint64_t address) {
  return static_cast<uint64_t>(ptrace(PTRACE_PEEKTEXT, pid, address, nullptr));
}
uint64_t Register(pid_t pid, size_t offset) {
  return static_cast<uint64_t>(ptrace(PTRACE_PEEKUSER, pid, offset, nullptr));
}

bool IsEvent(int status, int event) {
  return status >> 8 == (SIGTRAP | event << 8);
}

int StatusOf(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, __WALL) != pid) Fail("waitpid");
  return status;
}

void ExpectStopped(pid_t pid) {
  const int status = StatusOf(pid);
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) {
    fprintf(stderr, "a process ended before it was to run: %#x\n", static_cast<unsigned>(status));
    exit(1);
  }
}

Code CodeOf(pid_t pid, const char* object) {
  FILE* const maps = fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "re");
  if (maps == nullptr) Fail("maps");
  Code code;
  char line[1024];
  while (fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (access[2] == 'x' && strstr(line, object) != nullptr) code = {begin, end};
  }
  fclose(maps);
  return code;
}

constexpr char kLibrary[] = "/libvgpu.so";
constexpr char kProgram[] = "/limit_kills";

// The library's code is the same in all processes, wherever it is mapped.
const Code& Own() {
  static const Code own = CodeOf(getpid(), kLibrary);
  return own;
}

}  // namespace

Stepped::Stepped(void (*prepare)(), void (*run)(), Way way)
    : way_(way), library_(Own()), program_(CodeOf(getpid(), kProgram)) {
  fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prepare();
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    run();
    raise(SIGSTOP);
    _exit(0);
  }
  ExpectStopped(pid_);
  if (way_ == Way::kChildCalls) FollowChild();
  ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
}

Stepped::~Stepped() {
  Kill();
  if (parent_ == 0) return;
  kill(parent_, SIGKILL);
  waitpid(parent_, nullptr, 0);
}

void Stepped::FollowChild() {
  parent_ = pid_;
  ptrace(PTRACE_SETOPTIONS, parent_, nullptr, PTRACE_O_TRACEFORK);
  ptrace(PTRACE_CONT, parent_, nullptr, nullptr);
  unsigned long child = 0;
  if (!IsEvent(StatusOf(parent_), PTRACE_EVENT_FORK)) Fail("it did not fork");
  ptrace(PTRACE_GETEVENTMSG, parent_, nullptr, &child);
  pid_ = static_cast<pid_t>(child);
  ExpectStopped(pid_);
  ptrace(PTRACE_DETACH, parent_, nullptr, nullptr);
}

void Stepped::Kill() {
  if (is_gone_) return;
  kill(pid_, SIGKILL);
  while (!is_gone_) {
    const int status = StatusOf(pid_);
    is_gone_ = WIFSIGNALED(status) || WIFEXITED(status);
  }
}

// False: the process stopped for another reason than the request, or is gone.
bool Stepped::Go(int request) {
  ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, nullptr);
  const int status = StatusOf(pid_);
  is_gone_ = WIFSIGNALED(status) || WIFEXITED(status);
  if (is_gone_ || !WIFSTOPPED(status)) return false;
  if (IsEvent(status, PTRACE_EVENT_EXEC)) stage_ = Stage::kExec;
  at_ = Register(pid_, offsetof(user_regs_struct, rip));
  return WSTOPSIG(status) == SIGTRAP;
}

// Runs to the `times`-th arrival at the address by breakpoints, or to an exec.
bool Stepped::RunTo(uint64_t address, int times) {
  const uint64_t before = Word(pid_, address);
  for (int time = 0; time < times; ++time) {
    if (time > 0 && !Go(PTRACE_SINGLESTEP)) return false;
    ptrace(PTRACE_POKETEXT, pid_, address, (before & ~uint64_t{0xff}) | kBreakpoint);
    if (!Go(PTRACE_CONT)) return false;
    if (stage_ == Stage::kExec) return true;
    ptrace(PTRACE_POKETEXT, pid_, address, before);
    ptrace(PTRACE_POKEUSER, pid_, offsetof(user_regs_struct, rip), address);
    at_ = address;
  }
  return true;
}

uint8_t Stepped::CodeAt(uint64_t address) const {
  return *reinterpret_cast<const uint8_t*>(Own().begin + (address - library_.begin));
}

bool Stepped::IsOften(uint64_t function) {
  return often_ != 0 && ++calls_[function] >= often_;
}

// Goes to the library's next instruction and passes over other code. An exec and the executed
// program's first line count as well. False: the process came to the end of `run`, or ended.
bool Stepped::Step() {
  if (stage_ == Stage::kExec) {
    // RunExecuted stops the process at the first line of the new program.
    stage_ = Stage::kExecuted;
    Go(PTRACE_CONT);
    if (is_gone_) return false;
    library_ = CodeOf(pid_, kLibrary);
    program_ = CodeOf(pid_, kProgram);
    return true;
  }
  do {
    const uint64_t before = at_;
    const uint8_t code = library_.Has(before) ? CodeAt(before) : 0;
    if (!Go(PTRACE_SINGLESTEP)) return false;
    if (way_ == Way::kAll) return true;
    if (Passes(before, code)) {
      // Every callee, also one reached by a tail jump, returns to the address on the stack.
      const uint64_t stack = Register(pid_, offsetof(user_regs_struct, rsp));
      if (!RunTo(Word(pid_, stack))) return false;
    } else if (code == kCall && at_ != before + kCallSize && IsOften(at_)) {
      if (!RunTo(before + kCallSize)) return false;
    }
    if (stage_ == Stage::kExec) return true;
  } while (!library_.Has(at_));
  return true;
}

// Whether the process just entered another object's code, which is run without stepping.
bool Stepped::Passes(uint64_t before, uint8_t code) const {
  if (library_.Has(at_) || program_.Has(at_)) return false;
  if (library_.Has(before)) return code != kReturn;
  return way_ != Way::kLibrary && program_.Has(before);
}

Place Stepped::Now() const {
  const bool has_code = stage_ == Stage::kBegun || library_.Has(at_);
  return {has_code ? at_ - library_.begin : Place::kNone, stage_};
}

Path Stepped::Follow(int often) {
  Path path;
  often_ = often;
  while (Step()) path.push_back(Now());
  return path;
}

bool Stepped::GoOnTo(Stage stage) {
  if (stage == stage_) return true;
  if (!Go(PTRACE_CONT) || stage_ != Stage::kExec) return false;
  return stage == Stage::kExec || Step();
}

bool Stepped::GoTo(const Place& place, int times) {
  // A child forked at a breakpoint would die of it.
  if (way_ == Way::kAll) return StepTo(place, times);
  if (!GoOnTo(place.stage)) return false;
  if (place.address == Place::kNone) return true;
  return RunTo(library_.begin + place.address, times) && Now() == place;
}

bool Stepped::StepTo(const Place& place, int times, size_t most) {
  for (size_t steps = 0; steps < most && Step(); ++steps) {
    if (Now() == place && --times == 0) return true;
  }
  return false;
}

}  // namespace tessera::limiter
