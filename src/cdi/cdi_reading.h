// SPDX-License-Identifier: Apache-2.0
// Reads CDI documents from files as runtimes find them: JSON or YAML, of any party. The cost of a
// file is bounded, whatever its text. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grant/cdi_document.h"

namespace tessera {

// Whether runtimes read a file of this name: they know only these endings.
bool IsCdiFile(std::string_view name);
// Parses the text of a file of this name. kInvalid names what a runtime refuses in it.
Result<cdi::Document> ReadCdiText(const std::string& name, std::string text);
// Reads the document at this path.
Result<cdi::Document> ReadCdiFile(const std::string& path);

// The document's devices, each "vendor/class=name".
std::vector<std::string> DevicesIn(const cdi::Document& document);

}  // namespace tessera
