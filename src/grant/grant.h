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

// How edits reach the container; a resource may name several.
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

// What a container gets beside its devices, e.g. GPUDirect Storage: a variable switches it on, and
// a CDI device brings it.
struct ExtraDevice {
  std::string env;         // set to "enabled"
  std::string cdi_device;  // its whole name; empty: none
  bool operator==(const ExtraDevice&) const = default;
};

// A node of the devices that is named like a device of its own, e.g. an IMEX channel. Containers
// get it wherever their devices have that node.
struct Channel {
  std::string node;        // its path in the container
  std::string name;        // what the variable and the mount call it
  std::string env;         // names it, as the devices' variable names them
  std::string mount;       // the directory of such mounts, below that of the devices
  std::string cdi_device;  // its whole name; empty: none
  bool operator==(const Channel&) const = default;
};

// What one share is worth, where a device's shares differ.
struct FractionSize {
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of the GPU's compute time
  bool operator==(const FractionSize&) const = default;
};

struct VendorRow;  // how a scheduler says what pods get of a vendor's devices

// How a site names what pods ask for of each device, and what holds where they do not say.
struct FractionRequests {
  std::string memory_name = {};
  std::string percentage_name = {};
  std::string cores_name = {};
  int default_memory = 0;  // MiB; 0: all of the GPU
  int default_cores = 0;   // percent; 0: no limit
  int memory_factor = 1;   // what a request for memory counts
  bool fit_unplaced =
      false;  // pods that no scheduler chose GPUs for get what is free; else nothing
  // Without CDI: a pod that cannot start, since what kubelet keeps for it is another's, is evicted.
  bool evict_mismatched = false;
  const VendorRow* vendor = nullptr;  // never null in a configuration
  bool operator==(const FractionRequests&) const = default;
};

// How a scheduler is told of the devices that it places fractions on.
struct FractionRegistration {
  bool link_scores = false;  // how close they are to each other, too
  bool old_format = false;   // as schedulers of before read it
  int order_step = 1;        // a device's number is its Device::order by this
  bool operator==(const FractionRegistration&) const = default;
};

// How the devices of a resource are divided into fractions (grant/fraction.h).
struct FractionRules {
  const Enforcer* enforcer = nullptr;  // null: nothing holds containers to their parts
  std::string directory;         // of the limiting library's files, on the host and in containers
  std::string library;           // on the host; empty: it could not be installed
  bool library_by_rule = false;  // it is the newest that is found in the directory
  std::string install = {};      // where the agent has the one to install; empty: it does not
  bool own_library = false;      // it is Tessera's (limiter/)
  bool enforced = true;          // the library goes into every container
  int parts = 1;                 // virtual GPUs that a GPU is
  std::vector<FractionSize> sizes = {};  // of each; none: equal parts
  // Set: a virtual GPU is worth what its pod asks for, and nothing before a pod has it.
  std::optional<FractionRequests> requests = {};
  std::optional<FractionRegistration> registration = {};  // with requests; nothing: it is told none
  double memory_scaling = 1;  // what a GPU's memory counts; above 1 there is more than it has
  double core_scaling = 1;    // what its compute time counts
  // Kernel or driver hold containers to their memory themselves; the library only shows it.
  bool memory_by_driver = false;
  // What the library is told besides its limits. Fixed: over what the pod says, else below it.
  std::map<std::string, std::string> tunables = {};
  bool tunables_fixed = true;
  // A container that says so itself goes without the library.
  bool may_disable_control = false;
  bool operator==(const FractionRules&) const = default;
};

// What of a resource's configuration a grant needs. Plain texts, made once: a grant only puts them
// together.
struct Rendering {
  std::vector<Strategy> strategies = {Strategy::kEnvvar, Strategy::kVolumeMounts,
                                      Strategy::kDeviceSpecs};
  std::string env;       // the visible-devices variable; empty: none
  std::string cdi_kind;  // "vendor.com/class"; empty: no CDI
  // Below this directory in the container a mount for each device names it to the runtime, and the
  // variable names the directory; empty: the runtime knows no such thing. Unlike a variable, a
  // mount cannot be asked for by a pod that was granted nothing.
  std::string mount_list_dir = {};
  bool one_per_container = false;  // of shares
  // Whether the agent writes the CDI document. One that others write calls the devices what the
  // variable does.
  bool cdi_write = true;
  bool cdi_visible_names =
      false;  // ours does so, too; else it calls them what they are called here
  std::string cdi_annotation_prefix = "cdi.k8s.io/tessera_";  // of the annotation's key
  std::vector<ExtraDevice> extras = {};
  std::vector<Channel> channels = {};
  // What every container gets besides, by whatever strategies.
  std::map<std::string, std::string> envs = {};
  std::vector<Mount> mounts = {};
  std::optional<FractionRules> fractions = {};  // its shares are fractions
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

// The grant for exactly these ids, in any order: kEmptyRequest, kTooManyShares, kDuplicateShare,
// kUnknownShare, kUnhealthyShare, kExcluded, kIncompleteBundle or, when two of the devices want one
// path in the container, kPathConflict otherwise, with a message for whoever asked for the pod.
// Devices are named once and in their own order, then in natural order, however many of their
// shares are asked for; channels come behind them.
//
// `match`: whose it is, where virtual GPUs are as large as their pods ask for and no CDI can say so
// later; it has the devices of that, whatever those of the ids are. kNotMatched without.
//
// `name` is that of a late grant, which is different each time: of virtual GPUs, or of devices that
// are prepared for it. Where CDI brings it, the name is all that it says of devices, and whatever
// else reads the visible-devices variable finds that there are none.
Result<Grant> Allocate(const Offer& offer, const Rendering& rendering,
                       std::span<const std::string> ids, std::string_view name = {},
                       const FractionMatch* match = nullptr);
// Whether its grants need one.
bool NeedsMatch(const Rendering& rendering);
// Names the grant in it; the container runtime shows it with the container.
inline constexpr char kGrantAnnotation[] = "tessera.dev/grant";
// The same of one whose devices are prepared for it.
inline constexpr char kPreparedAnnotation[] = "tessera.dev/prepared";
// What it is worth (PartsText): kubelet keeps the answer, and so what was promised.
inline constexpr char kPartsAnnotation[] = "tessera.dev/parts";
inline constexpr char kPartsAsked[] = "asked";  // there: what its pod asks for
// Whose it was taken to be, where that had to be guessed: the pod's UID, as kubelet knows it.
inline constexpr char kPodAnnotation[] = "tessera.dev/pod";
inline constexpr char kContainerAnnotation[] = "tessera.dev/container";

// kUnhealthyShare with why, where its device is not healthy.
Status CheckHealthy(const Offer& offer, uint32_t device);

// Whether `kind` is a CDI kind, "vendor.com/class", that every runtime takes. Vendor and class have
// at least two characters: one runtime in use crashes on shorter ones.
Status CheckCdiKind(std::string_view kind);

// Whether grants name CDI devices of a document that the agent writes.
bool WritesCdi(const Rendering& rendering);
// What a container gets for the device by that document.
cdi::Edits CdiEditsOf(const Device& device, const Rendering& rendering, const cdi::Parts* parts);
// The CDI document for the offer's devices under `rendering.cdi_kind`: one CDI device each. It has
// what `parts` say of it; where there are none, its nodes and mounts. When the resource has a
// visible-devices variable then, or a device has neither nodes nor mounts (CDI wants at least one
// edit), it gets a variable of its own, "VARIABLE_ID=NAME"; so do the variables of its traits.
cdi::Document CdiDocument(const Offer& offer, const Rendering& rendering,
                          const cdi::Parts* parts = nullptr);
// The rendering without names of CDI devices that are in no document of `parts`: what is asked for
// beside the devices, and the node does not have.
Rendering WithoutMissing(Rendering rendering, const cdi::Parts& parts);
// Whether the text is a whole document of the kind, by whichever version of ours.
bool IsCdiDocumentOf(std::string_view cdi_kind, std::string_view text);
// The file name for it below a CDI directory: "tessera-vendor.com_class.json"; of the vendor that
// NVIDIA's device plugin has, "vendor-class.json", as the plugin calls it: a second file with the
// same devices would make both of no use.
std::string CdiFileName(std::string_view cdi_kind);
// A device's name in CDI, "vendor.com/class=7". An id that CDI's grammar refuses is replaced by its
// harmless characters and a hash of the whole.
std::string CdiDeviceName(std::string_view cdi_kind, std::string_view device_id);
// A device's mount as CDI documents have it.
cdi::Mount CdiMount(const Mount& mount);
// What the resource's grants and documents call this device.
std::string CdiNameOf(const Device& device, const Rendering& rendering);
// The key of the annotation that carries a resource's CDI names: one a resource, at most 63
// characters behind the slash.
std::string CdiAnnotationKey(std::string_view prefix, std::string_view resource);

}  // namespace tessera
