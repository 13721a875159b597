// SPDX-License-Identifier: Apache-2.0
// Versions of the CDI format: which ones there are, and what needs which. Pure; any thread.
#pragma once

#include <string_view>

namespace tessera::cdi {

// The number of a version among those that there are, from 0; negative: it is none.
int RankOf(std::string_view version);

// The lowest version that has all that is asked for.
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
