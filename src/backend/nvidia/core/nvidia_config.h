// SPDX-License-Identifier: Apache-2.0
// What the configuration says about a resource made of NVIDIA GPUs. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/nvidia/core/xid.h"
#include "grant/grant.h"
#include "hami/vendor.h"

namespace tessera::nvidia {

enum class IdStrategy : uint8_t { kUuid, kIndex };
// In the order in which CDI devices are named.
enum class Feature : uint8_t { kGdrcopy, kGds, kMofed };
// Whether containers get IMEX channel 0, which shares memory with GPUs of other nodes: never, where
// the node has it, or always, so that without it no GPU is of use.
enum class Imex : uint8_t { kNone, kOptional, kRequired };
// What XIDs mean that no rule names: what the table says; nothing; or that they count, all of them.
enum class OtherXids : uint8_t { kTable, kIgnore, kCount };

// What can be left out of CDI documents: hooks, by the names of NVIDIA's program, or all of them;
// groups that a container needs to open nodes; sockets of the driver's daemons.
enum class CdiPiece : uint8_t {
  kCreateSymlinks,
  kEnableCudaCompat,
  kUpdateLdcache,
  kDisableDeviceNodeModification,
  kUpdateApplicationProfile,
  kHooks,
  kAdditionalGids,
  kIpcSockets,
};

}  // namespace tessera::nvidia

namespace tessera {

struct NvidiaConfig {
  // Which GPUs: all that it says must hold.
  struct Selector {
    std::string index = {};  // NVML's, a number; empty: any
    std::string uuid = {};   // empty: any
    std::string model = {};  // a pattern with "*"; empty: any
    std::string numa = {};   // the NUMA node that it is near to, a number; empty: any
    bool operator==(const Selector&) const = default;
  };

  std::string driver_root = "/";      // below it is the driver's library, as the agent sees it
  std::string host_driver_root = {};  // that on the host; empty: the same path
  // How GPUs are found (backend/nvidia/platform.h).
  enum class Discovery : uint8_t { kAuto, kNvml, kTegra };
  Discovery discovery = Discovery::kAuto;
  std::string dev_root = "/";          // below it are the device nodes, on the host
  std::vector<Selector> select = {};   // a GPU that any of them fits; empty: every GPU
  std::vector<Selector> exclude = {};  // but none that any of these fits
  int memory_if_untold = 0;            // MiB, of a GPU whose driver has no way to tell it
  // The profile of the MIG devices that the resource is made of, a pattern with "*"; empty: it is
  // made of whole GPUs.
  std::string mig = {};
  // What GPUs in MIG mode are to a resource of whole GPUs.
  enum class InMigMode : uint8_t {
    kLeftOut,  // nothing
    kWhole,    // whole GPUs like others
    kDevices,  // their MIG devices, as long as all GPUs are divided alike
  };
  InMigMode in_mig_mode = InMigMode::kLeftOut;

  // What an earlier resource takes: no later one has it.
  struct Claim {
    std::vector<Selector> select = {};
    std::string mig = {};
    InMigMode in_mig_mode = InMigMode::kLeftOut;
    std::vector<Selector> exclude = {};
    bool operator==(const Claim&) const = default;
  };
  std::vector<Claim> earlier = {};
  // The name with "{profile}" of the family that the resource is of; empty: of none.
  std::string family = {};

  // What containers know a device by: its UUID; or NVML's index, "3", "3:1" of a MIG device.
  nvidia::IdStrategy id_strategy = nvidia::IdStrategy::kUuid;
  // What containers get beside their GPUs.
  std::vector<nvidia::Feature> features = {};
  nvidia::Imex imex = nvidia::Imex::kNone;
  // The vendor of the CDI documents that the agent writes; empty: it writes none.
  std::string cdi_vendor = {};
  std::string cdi_hook_path = {};  // of nvidia-cdi-hook or nvidia-ctk, on the host; empty: find it
  std::vector<nvidia::CdiPiece> cdi_leave_out = {};
  // The agent does not start without a driver.
  bool fail_on_init_error = false;

  // What XIDs mean here, where that is not what xid.def says.
  struct XidRule {
    int xid = 0;
    nvidia::XidClass xid_class = nvidia::XidClass::kRecover;
    bool operator==(const XidRule&) const = default;
  };
  std::vector<XidRule> xids = {};
  nvidia::OtherXids other_xids = nvidia::OtherXids::kTable;
  // How long a GPU stays out after the last XID of these classes, whatever its checks say.
  struct Probation {
    Duration recover = nvidia::XidPolicy().recover_probation;
    Duration reset = nvidia::XidPolicy().reset_probation;
    bool operator==(const Probation&) const = default;
  };
  Probation probation = {};

  // How its GPUs are shared by MPS.
  struct Mps {
    bool on = false;                       // the resource's policy is that
    std::string root = "/run/nvidia/mps";  // where MPS has its files on the host
    std::string container_root = {};  // the same as programs of ours see it; empty: as the host
    int memory = 0;   // of a GPU that a client may take, MiB; 0: one of so many equal parts
    int threads = 0;  // of a GPU that a client may keep busy, percent; 0: likewise
    // Other memory on GPUs that all of this fits; the first that does counts.
    struct Size {
      std::string index = {};
      std::string uuid = {};
      std::string model = {};
      int memory = 0;
      bool operator==(const Size&) const = default;
    };
    std::vector<Size> sizes = {};
    bool operator==(const Mps&) const = default;
  };
  Mps mps = {};

  // How its GPUs are divided into virtual ones.
  struct Vgpu {
    bool on = false;                               // the resource's policy is that
    std::string directory = "/usr/local/vgpu";     // on the host and in containers
    std::string lock_directory = "/tmp/vgpulock";  // of no use any more
    std::string library = {};                      // on the host; empty: that in the directory
    std::string install = {};  // where the agent has it, to be put there; empty: it does not
    bool enforced = true;      // the library is there for every container
    // Of the virtual GPU of each number, from 0; none: equal parts.
    struct Size {
      int memory = 0;  // MiB
      int cores = 0;   // percent
      bool operator==(const Size&) const = default;
    };
    std::vector<Size> sizes = {};
    // Where the size of a virtual GPU comes from: this configuration, or the pod that has it.
    enum class Mode : uint8_t { kEqual, kRequested };
    Mode mode = Mode::kEqual;
    // The rest of what `requested` needs; as the site's webhook and scheduler know it.
    FractionRequests requests = hami::kNvidia.Requests();
    double memory_scaling = 1;
    double core_scaling = 1;
    // What the library is told of its log, of when it limits compute time, and of whose work goes
    // first; empty: nothing.
    std::string log_level = {};
    std::string core_policy = {};
    std::string task_priority = {};
    bool memory_by_driver = false;  // that holds containers to it; the library only shows it
    bool pod_may_tune = false;      // a pod's own variables win over these three
    bool may_disable_control = false;
    // What is told to HAMi's scheduler (report/hami_registration.h).
    struct Hami {
      bool registered = true;  // in mode kRequested
      bool topology_scores = false;
      bool before_2_8 = false;  // in the format, and with the handshake, of HAMi up to 2.7
      bool operator==(const Hami&) const = default;
    };
    Hami hami = {};
    bool operator==(const Vgpu&) const = default;
  };
  Vgpu vgpu = {};
  bool operator==(const NvidiaConfig&) const = default;
};

}  // namespace tessera
