// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/select_config.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "backend/kind.h"
#include "config/schema/fields.h"
#include "config/schema/problem.h"

namespace tessera::nvidia {
namespace {

using config::At;
using config::Bind;
using config::BindList;
using config::Key;
using config::Misfit;
using config::Type;
using Selector = NvidiaConfig::Selector;
using Selectors = std::vector<Selector>;

constexpr auto kNvidia = kKindConfig<NvidiaConfig>;

std::optional<Misfit> CheckNumber(std::string_view what, std::string_view text) {
  const bool number = text.find_first_not_of("0123456789") == std::string_view::npos;
  const bool plain = text.size() < 2 || text.front() != '0';
  if (number && plain) return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format("must be {}, a number, not {}", what, config::Quoted(text))};
}
std::optional<Misfit> CheckIndex(std::string_view text) {
  return CheckNumber("a GPU's index", text);
}
std::optional<Misfit> CheckNumaNode(std::string_view text) {
  return CheckNumber("a NUMA node", text);
}

template <Selectors NvidiaConfig::* Member>
constexpr auto kSelector =
    [](auto& config, const At& at) -> auto& { return (kNvidia(config, at).*Member)[at[1]]; };

template <Selectors NvidiaConfig::* Member>
Key ListOf() {
  return {.type = Type::kList,
          .max = NvidiaConfig::kMostSelectors,
          .list = BindList(kNvidia, Member),
          .children = [] {
            return std::vector<Key>{
                {.name = "index",
                 .doc = "NVML's index of the GPU. It may change when a GPU is plugged in.",
                 .example = "3",
                 .default_note = "any",
                 .check = CheckIndex,
                 .field = Bind(kSelector<Member>, &Selector::index)},
                {.name = "uuid",
                 .doc = "The GPU's UUID.",
                 .example = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42",
                 .default_note = "any",
                 .field = Bind(kSelector<Member>, &Selector::uuid)},
                {.name = "model",
                 .doc = "The GPU's model, with `*` for any characters.",
                 .example = "\"*A100*\"",
                 .default_note = "any",
                 .field = Bind(kSelector<Member>, &Selector::model)},
                {.name = "numa",
                 .doc = "The NUMA node that the GPU is near to.",
                 .example = "1",
                 .default_note = "any",
                 .check = CheckNumaNode,
                 .field = Bind(kSelector<Member>, &Selector::numa)}};
          }};
}

void CheckList(const Selectors& selectors, const std::string& path, config::Findings& findings) {
  for (size_t i = 0; i < selectors.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (selectors[i] != Selector()) continue;
    if (findings.IsBad(at + ".index") || findings.IsBad(at + ".numa")) continue;
    findings.Report(Reason::kConfigMissing, at, "needs one of 'index', 'uuid', 'model' and 'numa'");
  }
}

}  // namespace

std::vector<Key> SelectKeys() {
  Key select = ListOf<&NvidiaConfig::select>();
  select.name = "select";
  select.doc =
      "The GPUs of the resource: those that match an entry. A GPU that matches several resources "
      "belongs to the first.";
  select.default_note = "every GPU";
  Key exclude = ListOf<&NvidiaConfig::exclude>();
  exclude.name = "exclude";
  exclude.doc =
      "GPUs that the resource leaves out, even if `select` has them: those that match an entry.";
  exclude.default_note = "none";
  return {std::move(select), std::move(exclude)};
}

void CheckSelect(const NvidiaConfig& config, const std::string& section,
                 config::Findings& findings) {
  CheckList(config.select, section + ".select", findings);
  CheckList(config.exclude, section + ".exclude", findings);
}

}  // namespace tessera::nvidia
