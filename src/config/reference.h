// SPDX-License-Identifier: Apache-2.0
// What is told about the format, made from the table. Pure.
#pragma once

#include <string>

#include "config/schema.h"

namespace tessera::config {

// The JSON Schema (draft 2020-12) of the file, for editors and checks elsewhere.
std::string JsonSchema(const Schema& schema);

// The tables of docs/reference/configuration.md.
std::string MarkdownReference(const Schema& schema);

}  // namespace tessera::config
