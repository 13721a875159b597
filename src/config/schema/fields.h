// SPDX-License-Identifier: Apache-2.0
// Ties keys of the schema to members of Config. A function from (config, at) finds a section's
// struct; a pointer to member finds the value in it.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/schema/key.h"

namespace tessera::config {

// The name of each value of an enum, in the documentation's order.
template <class E>
using Choices = std::vector<std::pair<std::string, E>>;

namespace internal {

template <class T>
void Assign(T& member, const Value& value) {
  if constexpr (std::is_same_v<T, int>) {
    member = static_cast<int>(std::get<int64_t>(value));
  } else {
    member = std::get<T>(value);
  }
}

template <class T>
Value Take(const T& member) {
  if constexpr (std::is_same_v<T, int>) {
    return Value(int64_t{member});
  } else {
    return Value(member);
  }
}

}  // namespace internal

// `owner` takes (Config&, const At&) or (const Config&, const At&). It returns a reference to the
// struct of `member`.
template <class Owner, class S, class T>
Field Bind(Owner owner, T S::* member) {
  return {[=](Config& config, const At& at, const Value& value) {
            internal::Assign(owner(config, at).*member, value);
          },
          [=](const Config& config, const At& at) {
            return internal::Take(owner(config, at).*member);
          }};
}

template <class Owner, class S, class E>
Field BindEnum(Owner owner, E S::* member, const Choices<E>& choices) {
  return {[=](Config& config, const At& at, const Value& value) {
            for (const auto& [name, choice] : choices) {
              if (name == std::get<std::string>(value)) owner(config, at).*member = choice;
            }
          },
          [=](const Config& config, const At& at) {
            for (const auto& [name, choice] : choices) {
              if (choice == owner(config, at).*member) return Value(name);
            }
            return Value(std::string());
          }};
}

template <class Owner, class S, class E>
Field BindEnumList(Owner owner, std::vector<E> S::* member, const Choices<E>& choices) {
  return {[=](Config& config, const At& at, const Value& value) {
            std::vector<E>& list = owner(config, at).*member;
            list.clear();
            for (const std::string& text : std::get<std::vector<std::string>>(value)) {
              for (const auto& [name, choice] : choices) {
                if (name == text) list.push_back(choice);
              }
            }
          },
          [=](const Config& config, const At& at) {
            std::vector<std::string> names;
            for (const E& item : owner(config, at).*member) {
              for (const auto& [name, choice] : choices) {
                if (choice == item) names.push_back(name);
              }
            }
            return Value(std::move(names));
          }};
}

template <class E>
std::vector<std::string> NamesOf(const Choices<E>& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return names;
}

template <class Owner, class S, class T>
ListField BindList(Owner owner, std::vector<T> S::* member) {
  return {[=](Config& config, const At& at) { (owner(config, at).*member).emplace_back(); },
          [=](const Config& config, const At& at) { return (owner(config, at).*member).size(); }};
}

}  // namespace tessera::config
