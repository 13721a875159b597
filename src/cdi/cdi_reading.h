// SPDX-License-Identifier: Apache-2.0
// CDI documents in files as runtimes find them, whoever wrote them: JSON or YAML. What reading one
// costs is bounded, whatever stands there. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grant/cdi_document.h"

namespace tessera {

// Whether runtimes read a file of this name: they know no other ending.
bool IsCdiFile(std::string_view name);
// The document in a file of this name with this text; kInvalid, with what a runtime refuses in it.
Result<cdi::Document> ReadCdiText(const std::string& name, std::string text);
// That in the file at this path.
Result<cdi::Document> ReadCdiFile(const std::string& path);

// "vendor/class=name", each.
std::vector<std::string> DevicesIn(const cdi::Document& document);

}  // namespace tessera
