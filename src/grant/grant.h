// SPDX-License-Identifier: Apache-2.0
// A grant: what one container receives for the ids kubelet chose. The same ids give the same
// answer; no I/O, no vendor call. Pure; plain data; any thread.
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
#include "grant/enforcer.h"
#include "share/share.h"

namespace tessera {

// How a grant reaches the container. A resource may have several strategies.
enum class Strategy : uint8_t {
  kEnvvar,          // the visible-devices variable names the devices
  kVolumeMounts,    // the devices' files are bind-mounted
  kDeviceSpecs,     // the devices' nodes are handed to the runtime
  kCdiAnnotations,  // CDI names in container annotations, for runtimes without the CRI field
  kCdiCri,          // CDI names in the CRI field
};
std::string_view StrategyName(Strategy strategy);  // "envvar", "volume-mounts", ...
std::optional<Strategy> StrategyFromName(std::string_view name);
bool IsCdi(Strategy strategy);

// Something that a container gets besides its devices, such as GPUDirect Storage: a variable
// switches it on, and a CDI device brings it.
struct ExtraDevice {
  std::string env;         // set to "enabled"
  std::string cdi_device;  // its whole name; empty: none
  bool operator==(const ExtraDevice&) const = default;
};

// A node of the devices that has a name of its own, such as an IMEX channel. A container gets it if
// one of its devices has that node.
struct Channel {
  std::string node;        // its path in the container
  std::string name;        // what the variable and the mount call it
  std::string env;         // names it, as the devices' variable names them
  std::string mount;       // the directory of such mounts, below that of the devices
  std::string cdi_device;  // its whole name; empty: none
  bool operator==(const Channel&) const = default;
};

// What one share is worth, if a device's shares differ.
struct FractionSize {
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of the GPU's compute time
  bool operator==(const FractionSize&) const = default;
};

struct VendorRow;     // how a scheduler names a vendor's annotations, formats and units
struct RequestRules;  // placement/requests.h

// A size of a part of a device, as its driver names it.
struct PartTemplate {
  std::string name{};
  int32_t memory = 0;  // MiB
  bool operator==(const PartTemplate&) const = default;
};

// How pods of this site ask for an amount of each device, and the defaults.
struct FractionRequests {
  std::string memory_name = {};
  std::string percentage_name = {};
  std::string cores_name = {};
  int default_memory = 0;     // MiB; 0: all of the GPU
  int default_cores = 0;      // percent; 0: no limit
  int memory_factor = 1;      // MiB that one unit of requested memory counts
  bool fit_unplaced = false;  // whether a pod that no scheduler placed gets what is free
  // Without CDI: evict a pod that kubelet's checkpoint gives another pod's grant, because it can
  // never start.
  bool evict_mismatched = false;
  const VendorRow* vendor = nullptr;  // never null in a configuration
  // The vendor's own rules, which outlive this. Null: those that the names and amounts above make.
  const RequestRules* rules = nullptr;
  bool operator==(const FractionRequests&) const = default;
};

// How the node registers the devices at a scheduler that places fractions on them.
struct FractionRegistration {
  bool link_scores = false;  // registers how close they are to each other
  bool old_format = false;   // the format of older schedulers
  int order_step = 1;        // a device's number is its Device::order divided by this
  bool operator==(const FractionRegistration&) const = default;
};

// How the devices of a resource are divided into fractions (grant/fraction.h).
struct FractionRules {
  const Enforcer* enforcer = nullptr;  // null: nothing holds containers to their parts
  std::string directory;         // of the limiting library's files, on the host and in containers
  std::string library;           // on the host; empty: it could not be installed
  bool library_by_rule = false;  // the newest library that is found in the directory
  std::string install = {};      // the agent's own copy to install; empty: none
  bool own_library = false;      // the library is Tessera's (limiter/)
  bool enforced = true;          // the library goes into every container
  // The capacity (DeviceTraits::capacities) that counts the units of a device's compute time, if
  // containers get whole units of their own. Empty: they get percent.
  std::string core_capacity = {};
  int parts = 1;                         // virtual GPUs of each GPU
  std::vector<FractionSize> sizes = {};  // the size of each; empty: equal parts
  // Set: a virtual GPU is worth what its pod asks for, and has no size before.
  std::optional<FractionRequests> requests = {};
  std::optional<FractionRegistration> registration = {};  // with requests; nullopt: none
  double memory_scaling = 1;  // factor of a GPU's memory; above 1 more is granted than it has
  double core_scaling = 1;    // factor of its compute time
  // The kernel or the driver enforces the memory limit; the library only shows it.
  bool memory_by_driver = false;
  // Settings for the library besides the limits. Fixed: they override the pod's variables; else the
  // pod's override them.
  std::map<std::string, std::string> tunables = {};
  bool tunables_fixed = true;
  // The kind's preparer makes the parts of each grant, and its document (backend/preparer.h).
  bool prepared = false;
  // A container may ask to go without the library.
  bool may_disable_control = false;
  bool operator==(const FractionRules&) const = default;
};

// What a grant needs of a resource's configuration. Made once; a grant only puts the texts
// together.
struct Rendering {
  std::vector<Strategy> strategies = {Strategy::kEnvvar, Strategy::kVolumeMounts,
                                      Strategy::kDeviceSpecs};
  std::string env;       // the visible-devices variable; empty: none
  std::string cdi_kind;  // "vendor.com/class"; empty: no CDI
  // The directory in the container below which a mount for each device names it to the runtime; the
  // variable then names the directory. Empty: the runtime does not support that. A pod can set a
  // variable without a grant, but cannot add such a mount.
  std::string mount_list_dir = {};
  bool one_per_container = false;  // of shares
  // Whether the agent writes the CDI document. A document of another party names devices as the
  // variable does.
  bool cdi_write = true;
  bool cdi_visible_names = false;  // our document names devices as the variable does, else by id
  std::string cdi_annotation_prefix = "cdi.k8s.io/tessera_";  // of the annotation's key
  std::vector<ExtraDevice> extras = {};
  std::vector<Channel> channels = {};
  // What every container also gets, by any strategy.
  std::map<std::string, std::string> envs = {};
  std::vector<Mount> mounts = {};
  std::map<std::string, std::string> annotations = {};
  std::optional<FractionRules> fractions = {};  // set: its shares are fractions
  bool operator==(const Rendering&) const = default;
};

struct FractionMatch;  // grant/fraction.h

struct Grant {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  bool operator==(const Grant&) const = default;
};

// The grant for exactly these ids, in any order. Devices are named once, in their own order, then
// in natural order, however many of their shares are granted. Channels follow them.
//
// Errors: kEmptyRequest, kTooManyShares, kDuplicateShare, kUnknownShare, kUnhealthyShare,
// kExcluded, kIncompleteBundle. kPathConflict: two of the devices have one path in the container.
// The message is for the pod's author.
//
// `match`: the container, if pods choose the size and no CDI document can name it later. The grant
// then has the match's devices, not those of the ids. kNotMatched without it.
//
// `name`: the name of a late grant, different each time: of virtual GPUs, or of devices that are
// prepared for it. With CDI the name is all that the grant says of devices, and the visible-devices
// variable names none.
Result<Grant> Allocate(const Offer& offer, const Rendering& rendering,
                       std::span<const std::string> ids, std::string_view name = {},
                       const FractionMatch* match = nullptr);
// Whether grants of this resource need a match.
bool NeedsMatch(const Rendering& rendering);
// The annotation with the name of a late grant; the container runtime shows it.
inline constexpr char kGrantAnnotation[] = "tessera.dev/grant";
// The same for a grant with prepared devices.
inline constexpr char kPreparedAnnotation[] = "tessera.dev/prepared";
// The annotation with what the grant is worth (PartsText). kubelet keeps it in its checkpoint.
inline constexpr char kPartsAnnotation[] = "tessera.dev/parts";
inline constexpr char kPartsAsked[] = "asked";  // its value if the pod chooses the size
// The annotations with the container of a matched grant: the pod's UID, as kubelet knows it, and
// the name.
inline constexpr char kPodAnnotation[] = "tessera.dev/pod";
inline constexpr char kContainerAnnotation[] = "tessera.dev/container";

// kUnhealthyShare with the reason, if the device is not healthy.
Status CheckHealthy(const Offer& offer, uint32_t device);
// The same for a device that a pod is to get a part of, whichever share kubelet chose: also
// kNoRoom, while a container has it whole.
Status CheckPart(const Offer& offer, uint32_t device);

// Whether `kind` is a CDI kind, "vendor.com/class", that every runtime takes. Vendor and class have
// at least two characters: one runtime in use crashes on shorter ones.
Status CheckCdiKind(std::string_view kind);

// Whether grants name CDI devices of a document that the agent writes.
bool WritesCdi(const Rendering& rendering);
// What that document gives a container for the device.
cdi::Edits CdiEditsOf(const Device& device, const Rendering& rendering, const cdi::Parts* parts);
// The CDI document for the offer's devices under `rendering.cdi_kind`, with one CDI device each. A
// device has what `parts` says of it. Without `parts` it has its nodes, its mounts and the
// variables of its traits. It then also has a variable "VARIABLE_ID=NAME" if the resource has a
// visible-devices variable, or if the device has neither nodes nor mounts, because CDI demands one
// edit.
cdi::Document CdiDocument(const Offer& offer, const Rendering& rendering,
                          const cdi::Parts* parts = nullptr);
// The rendering without extra CDI devices that no document of `parts` has: the node lacks them.
Rendering WithoutMissing(Rendering rendering, const cdi::Parts& parts);
// Whether the text is a complete document of the kind, by any version of Tessera.
bool IsCdiDocumentOf(std::string_view cdi_kind, std::string_view text);
// Its file name in a CDI directory: "tessera-vendor.com_class.json". For the vendor of NVIDIA's
// device plugin it is "vendor-class.json", the plugin's own name, because a second file with the
// same devices would make both useless.
std::string CdiFileName(std::string_view cdi_kind);
// A device's name in CDI, "vendor.com/class=7". An id that CDI's grammar refuses becomes its
// allowed characters and a hash of the whole.
std::string CdiDeviceName(std::string_view cdi_kind, std::string_view device_id);
// A device's mount as CDI documents have it.
cdi::Mount CdiMount(const Mount& mount);
// The device's name in the resource's grants and documents.
std::string CdiNameOf(const Device& device, const Rendering& rendering);
// The key of the annotation that carries a resource's CDI names: one a resource, at most 63
// characters behind the slash.
std::string CdiAnnotationKey(std::string_view prefix, std::string_view resource);

}  // namespace tessera
