// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/select.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::rdma {
namespace {

// Counts conditions, and keeps the first one that fails.
class Conditions {
 public:
  void Is(std::string_view what, const std::string& wanted, const std::string& value) {
    if (wanted.empty()) return;
    Must(wanted == value, [&] {
      return value.empty() ? fmt::format("its {} is not known", what)
                           : fmt::format("its {} is {}, not {}", what, value, wanted);
    });
  }
  // `why` makes the text.
  template <class Why>
  void Must(bool holds, const Why& why) {
    if (holds) {
      ++fit_.passed;
    } else if (fit_.fits) {
      fit_.fits = false;
      fit_.why = why();
    }
  }
  const Fit& fit() const { return fit_; }

 private:
  Fit fit_{.fits = true};
};

bool IsBetter(const Fit& a, const Fit& b) {
  return a.fits != b.fits ? a.fits : !a.fits && a.passed > b.passed;
}

bool IsPf(const Function& physical, const std::string& name) {
  return physical.address == name || std::ranges::count(physical.interfaces, name) > 0;
}

void CheckPf(const std::string& wanted, const Function& function,
             const std::vector<Function>& functions, Conditions& conditions) {
  if (wanted.empty()) return;
  const auto pf = ParsePf(wanted);
  const Function* const physical =
      function.IsVirtual() ? Find(functions, function.physical) : &function;
  const bool is_of = pf && physical != nullptr && IsPf(*physical, pf->name);
  conditions.Must(is_of, [&] {
    return fmt::format("its physical function is not {}", pf ? pf->name : wanted);
  });
  if (!is_of || pf->indices.empty()) return;
  const bool is_in = std::ranges::any_of(pf->indices, [&](const auto& range) {
    return function.index >= range.first && function.index <= range.second;
  });
  conditions.Must(is_in, [&] {
    return function.index < 0 ? fmt::format("it is not one of the virtual functions {}", wanted)
                              : fmt::format("its number {} is not in {}", function.index, wanted);
  });
}

// A driver that leaves the function to a program: vfio-pci, uio_pci_generic, igb_uio.
bool IsForPrograms(const std::string& driver) {
  return driver.find("vfio") != driver.npos || driver.find("uio") != driver.npos;
}

// A pod that had the interface before the agent's start hides what the link is.
void CheckLink(const std::string& wanted, const Function& function, Conditions& conditions) {
  const bool is_hidden = function.link.empty() && function.interfaces.empty() &&
                         !function.driver.empty() && !IsForPrograms(function.driver);
  conditions.Is("link", wanted, is_hidden ? wanted : function.link);
}

void CheckSelector(const RdmaSelector& selector, const Function& function,
                   const std::vector<Function>& functions, Conditions& conditions) {
  conditions.Is("vendor", selector.vendor, function.vendor);
  conditions.Is("device", selector.device, function.device);
  conditions.Is("address", selector.address, function.address);
  conditions.Is("ACPI index", selector.acpi_index, function.acpi_index);
  CheckPf(selector.pf, function, functions, conditions);
  CheckPf(selector.pf_address, function, functions, conditions);
  if (!selector.interface.empty()) {
    conditions.Must(std::ranges::count(function.interfaces, selector.interface) > 0, [&] {
      return function.interfaces.empty()
                 ? "it has no interface here, so none is " + selector.interface
                 : fmt::format("its interface is {}, not {}", Join(function.interfaces, ", "),
                               selector.interface);
    });
  }
  CheckLink(selector.link, function, conditions);
  conditions.Is("partition key", selector.pkey, function.pkey);
  if (!selector.driver.empty() && function.driver.empty()) {
    conditions.Must(false, [&] { return "it has no driver, and not " + selector.driver; });
  } else {
    conditions.Is("driver", selector.driver, function.driver);
  }
}

void CheckRest(const RdmaChoice& choice, bool verbs, const Function& function,
               const HostNetwork& host, Conditions& conditions) {
  using Which = RdmaChoice::Which;
  conditions.Must(choice.accelerators == function.is_accelerator, [&] {
    return choice.accelerators ? "it is a network card" : "it is an accelerator";
  });
  if (choice.which == Which::kPhysical) {
    conditions.Must(!function.IsVirtual(), [] { return "it is a virtual function"; });
  } else if (choice.which == Which::kVirtual) {
    conditions.Must(function.IsVirtual(), [] { return "it is a physical function"; });
  }
  if (verbs) {
    conditions.Must(!function.hca.empty() || function.trouble, [&] {
      return function.driver.empty() ? "it has no driver"
                                     : function.driver + " has made no RDMA device of it";
    });
  }
  if (choice.shared) return;
  conditions.Must(function.functions == 0, [&] {
    return fmt::format("it has {}, which are given instead",
                       Count(static_cast<size_t>(function.functions), "virtual function"));
  });
  const bool has_route = std::ranges::any_of(
      function.interfaces,
      [&](const std::string& interface) { return host.routes.contains(interface); });
  conditions.Must(!has_route, [&] {
    return Join(function.interfaces, ", ") + " has the host's default route";
  });
  conditions.Must(function.master.empty(), [&] {
    return Join(function.interfaces, ", ") + " is a part of another interface of the host";
  });
}

}  // namespace

std::optional<PfSelector> ParsePf(std::string_view text) {
  const size_t hash = text.find('#');
  PfSelector selector{.name = std::string(text.substr(0, hash))};
  if (selector.name.empty()) return std::nullopt;
  if (hash == std::string_view::npos) return selector;
  for (const std::string& part : Split(text.substr(hash + 1), ',')) {
    const size_t dash = part.find('-');
    const auto first = sysfs::Number<int>(std::string_view(part).substr(0, dash));
    const auto last = dash == std::string::npos
                          ? first
                          : sysfs::Number<int>(std::string_view(part).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
    selector.indices.emplace_back(*first, *last);
  }
  return selector;
}

Details DetailsOf(const RdmaConfig& config) {
  Details details{.links = false,
                  .numbers = false,
                  .issms = config.issm,
                  .acpi_indices = false,
                  .accelerators = config.choice.accelerators};
  const auto add = [&](const RdmaChoice& choice) {
    for (const RdmaSelector& selector : choice.select) {
      details.links |= !selector.link.empty() || !selector.pkey.empty();
      details.numbers |= (selector.pf + selector.pf_address).find('#') != std::string::npos;
      details.acpi_indices |= !selector.acpi_index.empty();
    }
  };
  add(config.choice);
  for (const RdmaConfig::Earlier& earlier : config.earlier) add(earlier.choice);
  return details;
}

Fit FitOf(const RdmaChoice& choice, const Function& function,
          const std::vector<Function>& functions, const HostNetwork& host) {
  std::optional<Fit> best;
  const auto look = [&](const RdmaSelector& selector) {
    const RdmaAccess access{.verbs = choice.verbs && selector.access.verbs,
                            .vhost = selector.access.vhost};
    Conditions conditions;
    CheckSelector(selector, function, functions, conditions);
    CheckRest(choice, access.verbs, function, host, conditions);
    if (best && !IsBetter(conditions.fit(), *best)) return;
    best = conditions.fit();
    best->access = access;
  };
  if (choice.select.empty()) look({});
  for (const RdmaSelector& selector : choice.select) look(selector);
  return *best;
}

Fit FitOf(const RdmaConfig& config, const Function& function,
          const std::vector<Function>& functions, const HostNetwork& host) {
  Fit fit = FitOf(config.choice, function, functions, host);
  if (!fit.fits) return fit;
  fit.access.vhost |= config.vhost;
  if (config.cni && host.is_foreign && !function.IsVirtual()) {
    return {.passed = fit.passed, .why = "the agent cannot see whether the host needs it"};
  }
  for (const RdmaConfig::Earlier& earlier : config.earlier) {
    if (!FitOf(earlier.choice, function, functions, host).fits) continue;
    return {.passed = fit.passed, .why = "the resource " + earlier.resource + " has it"};
  }
  return fit;
}

}  // namespace tessera::rdma
