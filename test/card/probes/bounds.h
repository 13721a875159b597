// SPDX-License-Identifier: Apache-2.0
// Whether an attack got memory that is not counted: what is taken, by the card and by NVML's word
// of the processes, has grown by no more than what is counted. One thread.
#pragma once

#include <algorithm>

#include "card/probes/steps.h"
#include "card/probes/watch.h"

namespace tessera::card {

class Bounds {
 public:
  void Look() {
    const Amounts now = Measure();
    const auto growth = [](uint64_t before, uint64_t after) {
      return static_cast<long long>(after) - static_cast<long long>(before);
    };
    const long long counted = growth(start_.counted, now.counted);
    const long long of_card = growth(start_.card, now.card);
    worst_ =
        std::max({worst_, growth(start_.processes, now.processes) - counted, of_card - counted});
    most_ = std::max(most_, static_cast<long long>(start_.processes) + of_card);
  }
  // Says what came of it.
  CUresult End(bool is_done) {
    Look();
    const bool has_escaped = worst_ > static_cast<long long>(2 * kMiB);
    const bool is_past = most_ > static_cast<long long>(kLimit);
    Say(std::string(has_escaped ? "ESCAPED"
                    : is_past   ? "counted, past the limit"
                                : "held") +
        (is_done ? "" : ", but not as meant"));
    Note("not counted at most " + std::to_string(worst_) + ", taken at most " +
         std::to_string(most_) + " of " + std::to_string(kLimit));
    return CUDA_SUCCESS;
  }

 private:
  Amounts start_ = Measure();
  long long worst_ = 0;
  long long most_ = 0;
};

}  // namespace tessera::card
