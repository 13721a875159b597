// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "config/schema/checks.h"
#include "scheduler/settings/table.h"

namespace tessera::scheduler {
namespace {

using config::Misfit;

// Checks a text that is a value by itself.
std::optional<Misfit> CheckText(const Option& option, const std::string& text) {
  if (!option.values.empty()) {
    const auto value = config::ReadOneOf(text, option.values);
    if (!value) return value.error();
  }
  return option.check == nullptr ? std::nullopt : option.check(text);
}

// One overload for each type.
struct Storer {
  const Option& option;
  std::span<const std::string> texts;
  Settings& settings;

  template <class T>
  std::optional<Misfit> Take(T Settings::* member, const config::Parsed<T>& value) const {
    if (!value) return value.error();
    settings.*member = *value;
    return std::nullopt;
  }
  std::optional<Misfit> operator()(std::string Settings::* member) const {
    if (auto misfit = CheckText(option, texts.front())) return misfit;
    settings.*member = texts.front();
    return std::nullopt;
  }
  std::optional<Misfit> operator()(bool Settings::* member) const {
    return Take(member, config::ReadBool(texts.front()));
  }
  std::optional<Misfit> operator()(int64_t Settings::* member) const {
    return Take(member, config::ReadInt(texts.front(), option.min, option.max));
  }
  std::optional<Misfit> operator()(Duration Settings::* member) const {
    return Take(member,
                config::ReadTime(texts.front(), Duration(option.min), Duration(option.max)));
  }
  std::optional<Misfit> operator()(std::vector<std::string> Settings::* member) const {
    for (const std::string& text : texts) {
      if (auto misfit = CheckText(option, text)) return misfit;
    }
    settings.*member = {texts.begin(), texts.end()};
    return std::nullopt;
  }
};

// "T" -> "true". Other text stays.
std::string TruthOf(std::string_view text) {
  if (text == "t" || text == "T") return "true";
  if (text == "f" || text == "F") return "false";
  const auto value = config::ReadBool(text);
  return value || value.error().suggestion.empty() ? std::string(text) : value.error().suggestion;
}

// "7.0" -> "7" and "1e+06" -> "1000000", since charts write numbers so. Other text stays.
std::string WholeOf(std::string_view text) {
  constexpr double kExact = 1e15;
  const auto number = config::ReadNumber(text);
  if (!number || std::trunc(*number) != *number || std::abs(*number) > kExact) {
    return std::string(text);
  }
  return fmt::format("{}", static_cast<int64_t>(*number));
}

// "1m30s" -> "90s". Other text stays.
std::string TimeOf(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  Duration sum{};
  for (std::string_view rest = text; !rest.empty();) {
    const size_t unit = rest.find_first_not_of(kDigits);
    const size_t end =
        std::min(rest.find_first_of(kDigits, std::min(unit, rest.size())), rest.size());
    const auto part = ParseDuration(rest.substr(0, end));
    // Exceeds every setting's maximum, and keeps the sum far from overflow.
    if (!part || *part > std::chrono::hours(24 * 365)) return std::string(text);
    sum += *part;
    rest.remove_prefix(end);
  }
  return text.empty() ? "" : FormatDuration(sum);
}

// One overload for each type.
struct Splitter {
  std::string_view text;

  std::vector<std::string> operator()(std::string Settings::*) const { return {std::string(text)}; }
  std::vector<std::string> operator()(bool Settings::*) const { return {TruthOf(text)}; }
  std::vector<std::string> operator()(int64_t Settings::*) const { return {WholeOf(text)}; }
  std::vector<std::string> operator()(Duration Settings::*) const { return {TimeOf(text)}; }
  std::vector<std::string> operator()(std::vector<std::string> Settings::*) const {
    std::vector<std::string> texts;
    for (const std::string& part : Split(std::string(text), ',')) texts.emplace_back(Trim(part));
    return texts;
  }
};

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all;
    for (auto* part :
         {ProgramOptions, WebhookOptions, LeaseOptions, PodOptions, NvidiaOptions, AmountOptions}) {
      for (Option& option : part()) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

const Option* OptionOfFlag(std::string_view flag) {
  const auto found = std::ranges::find(Options(), flag, &Option::flag);
  return found == Options().end() || flag.empty() ? nullptr : &*found;
}

std::optional<Misfit> Store(const Option& option, std::span<const std::string> texts,
                            Settings& settings) {
  return std::visit(Storer{option, texts, settings}, option.member);
}

std::optional<Misfit> StoreLoosely(const Option& option, std::string_view text,
                                   Settings& settings) {
  return Store(option, std::visit(Splitter{text}, option.member), settings);
}

std::vector<std::string> TextsOf(const Option& option, const Settings& settings) {
  struct Reader {
    const Settings& settings;

    std::vector<std::string> operator()(std::string Settings::* member) const {
      return {settings.*member};
    }
    std::vector<std::string> operator()(bool Settings::* member) const {
      return {settings.*member ? "true" : "false"};
    }
    std::vector<std::string> operator()(int64_t Settings::* member) const {
      return {fmt::format("{}", settings.*member)};
    }
    std::vector<std::string> operator()(Duration Settings::* member) const {
      return {FormatDuration(settings.*member)};
    }
    std::vector<std::string> operator()(std::vector<std::string> Settings::* member) const {
      return settings.*member;
    }
  };
  return std::visit(Reader{settings}, option.member);
}

}  // namespace tessera::scheduler
