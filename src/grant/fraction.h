// SPDX-License-Identifier: Apache-2.0
// Fractions: parts of a device's memory and compute time. The device's kind owns the enforcer that
// holds a container to them (grant/enforcer.h). Pure; plain data; any thread.
//
// Grants of fractions are bound late. Allocate answers with a name that no other grant ever has.
// What the container may use is written as the CDI document of that name, when kubelet is about to
// make the container.
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

// One container's fraction of one device.
struct Fraction {
  std::string device;  // its id
  int64_t memory = 0;  // MiB
  // Percent of its compute time, or so many of its units (FractionRules::core_capacity); 0: no
  // limit.
  int cores = 0;
  std::string units{};  // their numbers, "0-3,8" (placement/units.h), once they are chosen
  bool operator==(const Fraction&) const = default;
};

// What the shares are worth, GPU by GPU in the container's order. Shares of one GPU add up.
// kUnknownShare and kUnhealthyShare as Allocate; kUnreadable if the memory of a GPU is unknown.
Result<std::vector<Fraction>> FractionsOf(const Offer& offer, const FractionRules& fractions,
                                          std::span<const std::string> ids);

// The fractions as text, "GPU-1=8192:10,GPU-2=4096:5": MiB and percent of each device.
std::string PartsText(std::span<const Fraction> parts);
// Reads PartsText; nullopt if it is no such text.
std::optional<std::vector<Fraction>> ReadParts(std::string_view text);

// The host paths of the limiting library's files, below FractionRules::directory.
struct FractionFiles {
  std::string containers;  // parent of each container's own directory
  std::string gates;       // parent of each matched grant's gate
  std::string limits;      // parent of each grant's directory with its limits
  std::string locks;       // parent of each grant's lock, if the library wants one
  std::string no_limits;   // the node's rule for having no limits (limiter/contract.h)
  std::string preload;     // the file that names the library to the container's loader
};
FractionFiles FilesOf(const FractionRules& fractions);

// All that one container's document is made from.
struct FractionGrant {
  std::string name;       // no other grant ever has it
  std::string directory;  // on the host; the container writes in it
  std::vector<Fraction> parts;
  // The devices' names in variables (Device::visible_as), in the order of the placement. Filled in
  // for the document.
  std::vector<std::string> visible = {};
  bool controlled = true;  // the library is loaded, if the rules enforce it
  bool licensed = false;   // the node has the library's licence files
  // The library on the host; empty: the configuration's. Else the one it was bound with before.
  std::string library = {};
  bool locked = false;        // that former library wants a lock
  bool has_no_limits = true;  // the no-limits file lies beside its limits
  bool operator==(const FractionGrant&) const = default;
};
// The container that a grant is matched to, and what it is worth. For runtimes without CDI, on
// which Allocate itself must know the container (src/matched).
struct FractionMatch {
  std::string pod_uid;  // as kubelet knows it
  std::string container;
  std::vector<Fraction> parts;
  std::string directory;  // as FractionGrant has it, as the next
  bool controlled = true;
  bool operator==(const FractionMatch&) const = default;
};
// A grant with a directory of its own, named after it.
FractionGrant NewFractionGrant(const FractionRules& fractions, std::string_view name,
                               std::vector<Fraction> parts);

// The gate on the host: a device node that a matched grant names. The agent makes it once the match
// is verified; without it no runtime makes the container. In containers it is kGate.
std::string GateOf(const FractionRules& fractions, std::string_view name);
inline constexpr char kGate[] = "/dev/tessera-grant";

// Sorts the parts into the order in which the container sees its GPUs. The library numbers them so.
void SortAsContainersSee(const Offer& offer, std::vector<Fraction>& parts);

// The grant's directory on the host with its limits file. The container cannot change it, and
// Tessera's library reads the limits from it (limiter/contract.h), whatever the variables say.
std::string LimitsOf(const FractionRules& fractions, std::string_view name);
// The files in that directory.
std::string LimitsFileOf(const FractionRules& fractions, std::string_view name);
std::string NoLimitsFileOf(const FractionRules& fractions, std::string_view name);
// The file name of the container's region, in the directory that it writes in.
std::string RegionNameOf(std::string_view name);
// The directory on the host of the lock that one container's processes share.
std::string LocksOf(const FractionRules& fractions, std::string_view name);

// The CDI document of one grant: what its devices need, as in the documents of whole devices, and
// its limits. kVanished if a part's device is not in the offer.
Result<cdi::Document> FractionDocument(const Offer& offer, const Rendering& rendering,
                                       const FractionGrant& grant, const cdi::Parts* described);
// The CDI kind of grants: "vendor.com/grant", with the vendor of the resource's CDI devices.
std::string GrantCdiKind(const Rendering& rendering);
// The file name of the document in a CDI directory.
std::string GrantFileName(std::string_view name);

}  // namespace tessera
