// SPDX-License-Identifier: Apache-2.0
// Questions that only a real driver answers, each a function with one answer; a function that the
// driver lacks is thrown as Missing. Each runs in a process of its own, without the limiter.
#pragma once

#include <span>
#include <string>

namespace tessera::card {

struct Question {
  const char* name;
  std::string (*answer)();
};

std::span<const Question> DriverQuestions();  // of what is done on a device
std::span<const Question> NameQuestions();    // of what libraries export and hand out
std::span<const Question> NvmlQuestions();

}  // namespace tessera::card
