// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs: parts of a GPU's memory and compute time. What holds a container to them is its
// kind's (grant/enforcer.h). Pure; plain data; any thread.
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

// What a container has of one GPU.
struct VgpuPart {
  std::string device;  // its id
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of its compute time; 0: no limit
  bool operator==(const VgpuPart&) const = default;
};

// What the shares are worth, GPU by GPU as containers see them: shares of one GPU add up.
// kUnknownShare, kUnhealthyShare as Allocate, and kUnreadable where the memory of a GPU is not
// known.
Result<std::vector<VgpuPart>> VgpuParts(const Offer& offer, const Vgpu& vgpu,
                                        std::span<const std::string> ids);

// "GPU-1=8192:10,GPU-2=4096:5": MiB and percent of each device.
std::string PartsText(std::span<const VgpuPart> parts);
// Nothing where it is no such text.
std::optional<std::vector<VgpuPart>> ReadParts(std::string_view text);

// Files on the host and where containers find them.
struct VgpuFiles {
  std::string containers;  // below which each container has a directory of its own
  std::string gates;       // and each matched grant its gate
  std::string limits;      // and each grant the file with its limits
  std::string locks;       // and each grant its processes' lock, where the library wants one
  std::string no_limits;   // what it means to have none, if the node says so (limiter/contract.h)
  std::string preload;     // names the library to the container's loader
  std::string license;     // which need not be there, nor what looks at it
  std::string validator;
};
VgpuFiles FilesOf(const Vgpu& vgpu);

// What one container gets.
struct VgpuGrant {
  std::string name;       // never used again
  std::string directory;  // that the container writes in, on the host
  std::vector<VgpuPart> parts;
  bool controlled = true;  // the library is loaded, where it is enforced
  bool licensed = false;   // the library has a licence, which some builds of it look for
  // On the host; empty: the configuration's. One of before: another version, or another's.
  std::string library = {};
  bool locked = false;  // what it loads of before wants a lock, whatever the configuration's does
  bool has_no_limits = true;  // beside its limits
  bool operator==(const VgpuGrant&) const = default;
};
// Whose a grant is taken to be, and what it is worth, where that has to be said before kubelet
// tells whose it is.
struct VgpuMatch {
  std::string pod_uid;  // as kubelet knows it
  std::string container;
  std::vector<VgpuPart> parts;
  std::string directory;  // as VgpuGrant has it, as the next
  bool controlled = true;
  bool operator==(const VgpuMatch&) const = default;
};
// Whose directory has its own name.
VgpuGrant NewVgpuGrant(const Vgpu& vgpu, std::string_view name, std::vector<VgpuPart> parts);

// A device node that a matched grant names, and that is made when it is known to be its
// container's: as long as it is not there, no runtime makes the container. In containers it is at
// kGate.
std::string GateOf(const Vgpu& vgpu, std::string_view name);
inline constexpr char kGate[] = "/dev/tessera-grant";

// In the order in which the container sees its GPUs, by which the library counts them.
void SortAsContainersSee(const Offer& offer, std::vector<VgpuPart>& parts);

// The directory, on the host, of which nobody in the container can change anything: our own library
// reads a grant's limits there (limiter/contract.h), whatever the variables say.
std::string LimitsOf(const Vgpu& vgpu, std::string_view name);
// The paths of the files there.
std::string LimitsFileOf(const Vgpu& vgpu, std::string_view name);
std::string NoLimitsFileOf(const Vgpu& vgpu, std::string_view name);
// What the processes of its container share, in the directory that they write in.
std::string RegionNameOf(std::string_view name);
// The directory, on the host, of a lock that a library's processes share: of one container alone.
std::string LocksOf(const Vgpu& vgpu, std::string_view name);

// The CDI document of one grant: what its devices need, as the documents for whole devices have it,
// and its limits. kVanished when one of the parts' devices is not in the offer.
Result<cdi::Document> VgpuDocument(const Offer& offer, const Rendering& rendering,
                                   const VgpuGrant& grant, const cdi::Parts* described);
// "vendor.com/grant", by the vendor of the resource's CDI devices.
std::string GrantCdiKind(const Rendering& rendering);
// The document's file below a CDI directory.
std::string GrantFileName(std::string_view name);

}  // namespace tessera
