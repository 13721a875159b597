// SPDX-License-Identifier: Apache-2.0
// An enforcer: what holds a container to its fractions of devices, such as a library that is loaded
// into its programs. Its kind of device owns it; FractionRules::enforcer points to it. Immutable,
// pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"

namespace tessera {

namespace limiter {
struct Region;  // limiter/contract.h
}

struct FractionRules;  // grant/grant.h
struct Fraction;       // grant/fraction.h
struct FractionGrant;  // likewise

class Enforcer {
 public:
  // The container's variables: its limits, numbered as the container sees its devices.
  virtual std::map<std::string, std::string> Envs(const FractionRules& fractions,
                                                  const FractionGrant& grant) const = 0;
  // The mounts of its files in the container.
  virtual std::vector<Mount> Mounts(const FractionRules& fractions,
                                    const FractionGrant& grant) const = 0;
  // The text of the grant's limits file (LimitsFileOf).
  virtual std::string LimitsText(const FractionRules& fractions,
                                 const FractionGrant& grant) const = 0;
  // The text of the file that names the library to the container's loader (FractionFiles::preload).
  virtual std::string PreloadText(const FractionRules& fractions) const = 0;
  // Files of the host that the container also gets, such as a licence, if the node has all of them
  // (FractionGrant::licensed). Empty: none.
  virtual std::vector<std::string> LicenseFiles(const FractionRules& fractions) const = 0;
  // Whether the agent makes the region that the container's processes share (limiter/contract.h).
  // If not, the library makes it.
  virtual bool OwnsRegion(const FractionRules& fractions) const = 0;
  // Fills in that region, which comes zeroed.
  virtual void FillRegion(const FractionRules& fractions, const std::vector<Fraction>& parts,
                          limiter::Region& region) const = 0;

 protected:
  ~Enforcer() = default;
};

}  // namespace tessera
