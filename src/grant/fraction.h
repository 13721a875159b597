// SPDX-License-Identifier: Apache-2.0
// Fractions: parts of a device's memory and compute time. The device's kind owns what holds a
// container to them (grant/enforcer.h). Pure; plain data; any thread.
//
// Their grants are bound late: Allocate gives the grant a name that is never used again, and no
// more than a promise. What the container may use is written when kubelet is about to make it:
// a CDI document of that name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grant/cdi_document.h"
#include "grant/grant.h"
#include "share/share.h"

namespace tessera {

inline constexpr int kAllCores = 100;  // percent: a whole GPU's compute time

// What a container has of one device.
struct Fraction {
  std::string device;  // its id
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of its compute time; 0: no limit
  bool operator==(const Fraction&) const = default;
};

// What the shares are worth, GPU by GPU as containers see them: shares of one GPU add up.
// kUnknownShare, kUnhealthyShare as Allocate, and kUnreadable where the memory of a GPU is not
// known.
Result<std::vector<Fraction>> FractionsOf(const Offer& offer, const FractionRules& fractions,
                                          std::span<const std::string> ids);

// "GPU-1=8192:10,GPU-2=4096:5": MiB and percent of each device.
std::string PartsText(std::span<const Fraction> parts);
// Nothing where it is no such text.
std::optional<std::vector<Fraction>> ReadParts(std::string_view text);

// Files on the host and where containers find them.
struct FractionFiles {
  std::string containers;  // below which each container has a directory of its own
  std::string gates;       // and each matched grant its gate
  std::string limits;      // and each grant the file with its limits
  std::string locks;       // and each grant its processes' lock, where the library wants one
  std::string no_limits;   // what it means to have none, if the node says so (limiter/contract.h)
  std::string preload;     // names the library to the container's loader
};
FractionFiles FilesOf(const FractionRules& fractions);

// What one container gets.
struct FractionGrant {
  std::string name;       // never used again
  std::string directory;  // that the container writes in, on the host
  std::vector<Fraction> parts;
  bool controlled = true;  // the library is loaded, where it is enforced
  bool licensed = false;   // the library has a licence, which some builds of it look for
  // On the host; empty: the configuration's. One of before: another version, or another's.
  std::string library = {};
  bool locked = false;  // what it loads of before wants a lock, whatever the configuration's does
  bool has_no_limits = true;  // beside its limits
  bool operator==(const FractionGrant&) const = default;
};
// Whose a grant is taken to be, and what it is worth, where that has to be said before kubelet
// tells whose it is.
struct FractionMatch {
  std::string pod_uid;  // as kubelet knows it
  std::string container;
  std::vector<Fraction> parts;
  std::string directory;  // as FractionGrant has it, as the next
  bool controlled = true;
  bool operator==(const FractionMatch&) const = default;
};
// Whose directory has its own name.
FractionGrant NewFractionGrant(const FractionRules& fractions, std::string_view name,
                               std::vector<Fraction> parts);

// A device node that a matched grant names, and that is made when it is known to be its
// container's: as long as it is not there, no runtime makes the container. In containers it is at
// kGate.
std::string GateOf(const FractionRules& fractions, std::string_view name);
inline constexpr char kGate[] = "/dev/tessera-grant";

// In the order in which the container sees its GPUs, by which the library counts them.
void SortAsContainersSee(const Offer& offer, std::vector<Fraction>& parts);

// The directory, on the host, of which nobody in the container can change anything: our own library
// reads a grant's limits there (limiter/contract.h), whatever the variables say.
std::string LimitsOf(const FractionRules& fractions, std::string_view name);
// The paths of the files there.
std::string LimitsFileOf(const FractionRules& fractions, std::string_view name);
std::string NoLimitsFileOf(const FractionRules& fractions, std::string_view name);
// What the processes of its container share, in the directory that they write in.
std::string RegionNameOf(std::string_view name);
// The directory, on the host, of a lock that a library's processes share: of one container alone.
std::string LocksOf(const FractionRules& fractions, std::string_view name);

// The CDI document of one grant: what its devices need, as the documents for whole devices have it,
// and its limits. kVanished when one of the parts' devices is not in the offer.
Result<cdi::Document> FractionDocument(const Offer& offer, const Rendering& rendering,
                                       const FractionGrant& grant, const cdi::Parts* described);
// "vendor.com/grant", by the vendor of the resource's CDI devices.
std::string GrantCdiKind(const Rendering& rendering);
// The document's file below a CDI directory.
std::string GrantFileName(std::string_view name);

}  // namespace tessera
