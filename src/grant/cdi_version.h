// SPDX-License-Identifier: Apache-2.0
// The versions of the CDI format, and which feature needs which. Pure; any thread.
#pragma once

#include <string_view>

namespace tessera::cdi {

// The position of a version in the list of versions, from 0; negative: unknown.
int RankOf(std::string_view version);

// Finds the lowest version that has all the features it was given. One thread.
class Needs {
 public:
  void AtLeast(std::string_view version);
  void ForKind(std::string_view kind);        // a dot in the class
  void ForDeviceName(std::string_view name);  // a digit in front
  std::string_view version() const;

 private:
  int rank_ = 0;
};

}  // namespace tessera::cdi
