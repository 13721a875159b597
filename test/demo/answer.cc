// SPDX-License-Identifier: Apache-2.0
#include "demo/answer.h"

#include <exception>

namespace tessera::demo {

bool Answer(const std::function<Lines()>& call, const char** answer) {
  thread_local std::string text;
  *answer = "";
  try {
    text.clear();
    for (const std::string& line : call()) text += line + "\n";
    *answer = text.c_str();
    return true;
  } catch (const std::exception& error) {
    text = error.what();
    *answer = text.c_str();
    return false;
  }
}

}  // namespace tessera::demo
