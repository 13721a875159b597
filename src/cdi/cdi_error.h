// SPDX-License-Identifier: Apache-2.0
// What is wrong with a CDI document of ours that people are to see beyond the log: until it is
// mended, no container starts that needs a device by that document. Plain data; any thread.
#pragma once

#include <functional>
#include <string>

namespace tessera {

struct CdiError {
  std::string reason;   // of the event: "CdiDocumentChanged"
  std::string path;     // the document
  std::string message;  // with what to do
};
using CdiErrorHandler = std::function<void(const CdiError&)>;

}  // namespace tessera
