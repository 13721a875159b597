// SPDX-License-Identifier: Apache-2.0
// One key of the configuration: its name, type, documentation, and where its value lives in Config.
// Plain data; any thread.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/schema/config.h"
#include "config/schema/scalar.h"

namespace tessera::config {

enum class Type : uint8_t {
  kSection,   // a map with the keys of `children`
  kList,      // a list of such maps
  kText,      // any text
  kPath,      // an absolute path
  kBool,      // true or false
  kInt,       // a whole number from `min` to `max`
  kDecimal,   // a number above `min` and up to `max`, such as 1.8
  kTime,      // "250ms", "10s", "5m", "2h"; from `min` to `max` milliseconds
  kEnum,      // one of `values`
  kEnumList,  // a list of some of `values`
  kPathList,  // a list of absolute paths; a short form, see `expands_to`
};
std::string_view TypeText(Type type);  // "path", "time", ...

// The effect of a change while the agent runs.
enum class Effect : uint8_t {
  kLive,      // it takes effect at once
  kRegister,  // the resource registers with kubelet again
  kRestart,   // the old value stays until the agent is restarted
};
std::string_view EffectText(Effect effect);  // "at once", "new registration", "restart"

// A value by its key's type: kBool bool, kInt int64_t, kDecimal double, kTime Duration, kEnumList
// and kPathList a list, others text.
// Duration, kEnumList and kPathList a list, the rest text.
using Value = std::variant<bool, int64_t, double, Duration, std::string, std::vector<std::string>>;

// A path's positions in lists, outermost first: {1, 0} for "resources[1].dummy.nodes[0].hostPath".
using At = std::array<size_t, 3>;

// The place of a key's value in Config.
struct Field {
  std::function<void(Config&, const At&, const Value&)> store;
  std::function<Value(const Config&, const At&)> load;
};

// The place of a list in Config.
struct ListField {
  std::function<void(Config&, const At&)> append;
  std::function<size_t(const Config&, const At&)> size;
};

// One of several sections of which one must be chosen: the kinds of a resource.
struct ChoiceField {
  std::function<void(Config&, const At&)> choose;
  std::function<bool(const Config&, const At&)> chosen;
};

// Why a text of the right type is not a good value; null: it is good. For a kEnum, the advice for a
// word that is not among its values.
using Check = std::optional<Misfit> (*)(std::string_view text);

struct Key;

// The keys of a section or of a list's items. They are described at their first use, once for all
// copies. Otherwise a start would spend most of its reading time on sections that no file has.
class Keys {
 public:
  using Describe = std::function<std::vector<Key>()>;

  Keys() = default;
  template <std::convertible_to<Describe> F>
  Keys(F describe)  // NOLINT(google-explicit-constructor): it is written in the place of a list
      : Keys(Describe(std::move(describe))) {}
  Keys(Describe describe);  // NOLINT(google-explicit-constructor)

  std::vector<Key>::const_iterator begin() const { return described().begin(); }
  std::vector<Key>::const_iterator end() const { return described().end(); }
  bool empty() const { return list_ == nullptr || described().empty(); }

 private:
  struct List;
  const std::vector<Key>& described() const;

  std::shared_ptr<List> list_;
};

struct Key {
  std::string_view name{};  // the last part of the path
  Type type = Type::kText;
  std::string_view doc{};      // one sentence
  std::string_view example{};  // in its YAML form
  std::string_view unit{};     // for a number that counts: "devices"
  // The default in words, if it depends on other keys.
  std::string_view default_note{};
  bool required = false;
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();  // for a list, the most items
  std::vector<std::string> values{};
  Check check = nullptr;
  Effect effect = Effect::kLive;
  Field field{};
  ListField list{};
  ChoiceField choice{};
  // Each item of this short form stands for one long form: "groups[].paths[].path", relative to the
  // key's section.
  std::string_view expands_to{};
  Keys children{};

  bool IsScalar() const { return type != Type::kSection && type != Type::kList; }
  const Key* Child(std::string_view child) const;
  std::vector<std::string> ChildNames() const;
};

}  // namespace tessera::config
