// SPDX-License-Identifier: Apache-2.0
// The reference of the format, made from the schema. Pure.
#pragma once

#include <string>

#include "config/schema.h"

namespace tessera::config {

// The JSON Schema (draft 2020-12) of the file, for editors and other checkers.
std::string JsonSchema(const Schema& schema);

// The tables of docs/reference/configuration.md.
std::string MarkdownReference(const Schema& schema);

}  // namespace tessera::config
