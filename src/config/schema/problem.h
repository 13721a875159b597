// SPDX-License-Identifier: Apache-2.0
// A problem in a file that a person wrote, with its place. Plain data; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::config {

struct Problem {
  Reason reason = Reason::kConfigBadValue;
  std::string
      origin{};    // the file's name, "environment TESSERA_HTTP_ADDRESS" or "flag --http-address"
  int line = 0;    // from 1; 0: not in a file
  int column = 0;  // from 1, in characters
  std::string text{};        // the offending text: a key or a value
  std::string message{};     // "kubelet.root: 'kubelet' is not an absolute path"
  std::string suggestion{};  // the closest valid key or value, if any
  std::string excerpt{};     // the whole offending line

  // "tessera.yaml:3:9: MESSAGE; did you mean 'SUGGESTION'? [REASON]". If the place is known, the
  // offending line and a caret follow on their own lines. No newline at the end.
  std::string Text() const;
  bool operator==(const Problem&) const = default;
};

// All problems, each ended by a newline.
std::string Text(std::span<const Problem> problems);

// The text in single quotes for messages: shortened, and without control characters.
std::string Quoted(std::string_view text);

}  // namespace tessera::config
