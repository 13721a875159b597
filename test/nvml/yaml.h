// SPDX-License-Identifier: Apache-2.0
// A YAML text as a tree of values, for the files of the fake NVML. The product's own reader would
// link half of the product into the fake library. Errors throw std::runtime_error, with the line
// where it is known. Plain data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::nvml {

class Yaml {
 public:
  using Entry = std::pair<Yaml, Yaml>;

  // Nothing: the value of a missing key, and null.
  Yaml() = default;
  explicit Yaml(std::string text) : kind_(Kind::kScalar), text_(std::move(text)) {}
  static Yaml Parse(const std::string& text);

  explicit operator bool() const { return kind_ != Kind::kNothing; }
  bool IsScalar() const { return kind_ == Kind::kScalar; }
  bool IsList() const { return kind_ == Kind::kList; }
  bool IsMap() const { return kind_ == Kind::kMap; }

  // A map's value; nothing if this is no map or has no such key.
  const Yaml& operator[](std::string_view key) const;
  // A list's item; throws if there is none in that place.
  const Yaml& operator[](size_t place) const;
  // A list's items; empty if this is no list.
  const std::vector<Yaml>& items() const { return items_; }
  std::vector<Yaml>& items() { return items_; }
  // A map's entries, in the order of the text; empty if this is no map.
  const std::vector<Entry>& entries() const { return entries_; }
  void Set(const std::string& key, Yaml value);

  // Throws if the value is no T. T: std::string, bool, int, unsigned or uint64_t.
  template <class T>
  T As() const;
  template <class T>
  T Or(T fallback) const {
    return *this ? As<T>() : fallback;
  }
  std::vector<std::string> Strings() const;

  // As YAML, on one line.
  std::string Text() const;

  // Throws `message`, with the line before it.
  [[noreturn]] void Refuse(const std::string& message) const;
  // Throws if a map has another key: a mistyped key would have no effect, and a test that relies on
  // it would prove nothing. `of`: the map's subject, for the error.
  void CheckKeys(std::string_view of, std::initializer_list<std::string_view> known) const;

 private:
  enum class Kind : uint8_t { kNothing, kScalar, kList, kMap };
  struct Reader;

  Kind kind_ = Kind::kNothing;
  int line_ = 0;  // from 1; 0: not from a text
  std::string text_;
  std::vector<Yaml> items_;
  std::vector<Entry> entries_;
};

template <>
std::string Yaml::As() const;
template <>
bool Yaml::As() const;
template <>
int Yaml::As() const;
template <>
unsigned Yaml::As() const;
template <>
uint64_t Yaml::As() const;

}  // namespace tessera::nvml
