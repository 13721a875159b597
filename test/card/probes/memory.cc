// SPDX-License-Identifier: Apache-2.0
// The memory probe compares the limiter's count of each kind of memory with NVML's.
//
//   memory [FAMILY...]     starts a process for each family, or for all, and watches it
//   memory FAMILY FIRST    is such a process (watch.h starts it)
#include <cctype>
#include <cstdlib>

#include "card/probes/peer.h"
#include "card/probes/steps.h"
#include "card/probes/watch.h"
#include "card/row.h"

int main(int count, char** words) {
  using namespace tessera::card;  // NOLINT(google-build-using-namespace)
  if (count == 3 && std::isdigit(static_cast<unsigned char>(words[2][0])) != 0) {
    if (words[1] == std::string("peer")) return RunPeer();
    return RunFamily(words[1], static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
  }
  for (const Family& family : Families()) {
    bool is_wanted = count == 1;
    for (int i = 1; i < count; ++i) is_wanted = is_wanted || family.name == std::string(words[i]);
    if (is_wanted &&
        !Watch(family.name, family.is_time ? 0 : kLimit, family.is_time ? kPercent : 0)) {
      Trouble("memory", "NVML has no device");
      return 0;
    }
  }
  return 0;
}
