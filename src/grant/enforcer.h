// SPDX-License-Identifier: Apache-2.0
// What holds a container to its parts of devices, such as a library that is loaded into its
// programs. A kind of device owns it (grant/grant.h's FractionRules::enforcer). Immutable, pure;
// any thread.
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
  // The container's environment: its limits, of the first device that it sees and so on.
  virtual std::map<std::string, std::string> Envs(const FractionRules& fractions,
                                                  const FractionGrant& grant) const = 0;
  // Its files in the container.
  virtual std::vector<Mount> Mounts(const FractionRules& fractions,
                                    const FractionGrant& grant) const = 0;
  // What the node's own file of the limits says (LimitsFileOf).
  virtual std::string LimitsText(const FractionRules& fractions,
                                 const FractionGrant& grant) const = 0;
  // What names the library to the container's loader (FractionFiles::preload).
  virtual std::string PreloadText(const FractionRules& fractions) const = 0;
  // Files of the host that the container gets besides, such as a licence, where the node has them
  // all (FractionGrant::licensed); empty: there are none.
  virtual std::vector<std::string> LicenseFiles(const FractionRules& fractions) const = 0;
  // Whether the agent makes the region that the container's processes share (limiter/contract.h);
  // otherwise the library does.
  virtual bool OwnsRegion(const FractionRules& fractions) const = 0;
  // Fills in that region, all of which is zero.
  virtual void FillRegion(const FractionRules& fractions, const std::vector<Fraction>& parts,
                          limiter::Region& region) const = 0;

 protected:
  ~Enforcer() = default;
};

}  // namespace tessera
