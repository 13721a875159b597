// SPDX-License-Identifier: Apache-2.0
// An error in a CDI document of ours that people must see beyond the log. Until it is mended, no
// container that needs the document's devices starts. Plain data; any thread.
#pragma once

#include <functional>
#include <string>

namespace tessera {

struct CdiError {
  std::string reason;   // of the event: "CdiDocumentChanged"
  std::string path;     // the document
  std::string message;  // with the next step
};
using CdiErrorHandler = std::function<void(const CdiError&)>;

}  // namespace tessera
