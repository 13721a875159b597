// SPDX-License-Identifier: Apache-2.0
// Rules for single texts beyond their type. Each returns why the text is not good, to follow the
// key's name, or null. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/schema/scalar.h"

namespace tessera::config {

std::optional<Misfit> CheckAbsolutePath(std::string_view text);
std::optional<Misfit> CheckSocketPath(std::string_view text);
std::optional<Misfit> CheckResourceName(std::string_view text);
std::optional<Misfit> CheckEnvironmentName(std::string_view text);
std::optional<Misfit> CheckPermissions(std::string_view text);
std::optional<Misfit> CheckCdiKind(std::string_view text);
std::optional<Misfit> CheckAnnotationPrefix(std::string_view text);
std::optional<Misfit> CheckSocketPrefix(std::string_view text);
std::optional<Misfit> CheckHttpAddress(std::string_view text);
std::optional<Misfit> CheckConditionType(std::string_view text);

}  // namespace tessera::config
