// SPDX-License-Identifier: Apache-2.0
// Measures calls of the driver with the limiter's library and without. Processes of each kind take
// turns, so that all kinds meet the same machine.
//
// usage: card_costs SECONDS      as many turns as fit, as rows
//        card_costs calls NAME   one process's samples, a line each: "US NAME"
//
// The environment is that of a part (test/card/parts/common).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "card/costs/calls.h"
#include "card/row.h"
#include "card/time/gpu.h"

namespace {

using namespace tessera::card;  // NOLINT(google-build-using-namespace)

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr ? value : "";
}

struct Kind {
  const char* name;
  std::vector<std::pair<const char*, std::string>> variables;
  std::map<std::string, std::vector<double>> samples;
};

std::vector<Kind> Kinds() {
  const std::string library = Variable("CARD_HOME") + "/bin/libvgpu.so";
  const std::string region = Variable("CARD_SCRATCH") + "/";
  return {{"without the library", {}, {}},
          {"limited in memory",
           {{"LD_PRELOAD", library},
            {"CUDA_DEVICE_MEMORY_LIMIT", "4g"},
            {"CUDA_DEVICE_MEMORY_SHARED_CACHE", region + "memory.cache"}},
           {}},
          {"limited in memory and time",
           {{"LD_PRELOAD", library},
            {"CUDA_DEVICE_MEMORY_LIMIT", "4g"},
            {"CUDA_DEVICE_SM_LIMIT", "90"},
            {"GPU_CORE_UTILIZATION_POLICY", "force"},
            {"CUDA_DEVICE_MEMORY_SHARED_CACHE", region + "time.cache"}},
           {}}};
}

// Another process's samples. What fails there is a row of its own, and what hangs is killed.
void AddProcess(Kind& kind, unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0) return std::perror("pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    for (const auto& [name, value] : kind.variables) {
      setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
    }
    alarm(seconds);
    execl("/proc/self/exe", "card_costs", "calls", kind.name, nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::FILE* const lines = fdopen(ends[0], "r");
  double us = 0;
  char name[100];
  while (std::fscanf(lines, "%lf %99[^\n]", &us, name) == 2) kind.samples[name].push_back(us);
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) Trouble(kind.name, "signal " + std::to_string(WTERMSIG(status)));
}

void Run(double seconds) {
  std::vector<Kind> kinds = Kinds();
  const uint64_t end = Now() + static_cast<uint64_t>(seconds * 1e9);
  constexpr size_t kTurns = 12;
  constexpr uint64_t kSecond = 1'000'000'000;
  uint64_t longest = 0;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    const uint64_t from = Now();
    if (from + longest > end) break;
    for (size_t i = 0; i < kinds.size() && Now() < end; ++i) {
      AddProcess(kinds[(turn + i) % kinds.size()],
                 static_cast<unsigned>((end - Now()) / kSecond) + 1);
    }
    longest = std::max(longest, Now() - from);
  }
  for (const auto& [call, ignored] : kinds[0].samples) {
    for (const Kind& kind : kinds) {
      const auto found = kind.samples.find(call);
      if (found != kind.samples.end()) Figure(call + ", " + kind.name, "us", found->second);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::string(words[1]) == "calls") {
    NameTrouble(words[2]);
    MeasureCalls([](std::string_view name, double us) {
      std::printf("%.3f %.*s\n", us, static_cast<int>(name.size()), name.data());
    });
    return 0;
  }
  if (count != 2 || std::atof(words[1]) <= 0) {
    std::fputs("usage: card_costs SECONDS\n", stderr);
    return 2;
  }
  Run(std::atof(words[1]));
  return 0;
}
