// SPDX-License-Identifier: Apache-2.0
// The configuration of a resource of NVIDIA GPUs. Plain data.
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
// Whether containers get IMEX channel 0, which shares memory with GPUs of other nodes. Never; if
// the node has it; or always, so that no GPU can be used without it.
enum class Imex : uint8_t { kNone, kOptional, kRequired };
// The meaning of XIDs that no rule names: the table's; none; or all count.
enum class OtherXids : uint8_t { kTable, kIgnore, kCount };

// The parts that CDI documents can leave out. Hooks, by the names of NVIDIA's program, or all
// hooks; the groups that open nodes; the daemons' sockets.
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
  // Selects GPUs; all conditions must hold.
  struct Selector {
    std::string index = {};  // NVML's, a number; empty: any
    std::string uuid = {};   // empty: any
    std::string model = {};  // a pattern with "*"; empty: any
    std::string numa = {};   // the closest NUMA node, a number; empty: any
    bool operator==(const Selector&) const = default;
  };
  static constexpr size_t kMostSelectors = 64;  // of a list

  std::string driver_root = "/";      // the root of the driver's library, as the agent sees it
  std::string host_driver_root = {};  // the same root on the host; empty: the same path
  // How GPUs are found (backend/nvidia/platform.h).
  enum class Discovery : uint8_t { kAuto, kNvml, kTegra };
  Discovery discovery = Discovery::kAuto;
  std::string dev_root = "/";          // the root of the device nodes, on the host
  std::vector<Selector> select = {};   // a GPU must fit one of these; empty: every GPU does
  std::vector<Selector> exclude = {};  // a GPU must fit none of these
  int memory_if_untold = 0;            // MiB, if the driver cannot report it
  // A pattern with "*" for the profiles of the resource's MIG devices; empty: the resource has
  // whole GPUs.
  std::string mig = {};
  // The use of GPUs in MIG mode by a resource of whole GPUs.
  enum class InMigMode : uint8_t {
    kLeftOut,  // none
    kWhole,    // as whole GPUs
    kDevices,  // their MIG devices, if all GPUs are divided alike
  };
  InMigMode in_mig_mode = InMigMode::kLeftOut;

  // The claim of an earlier resource, which no later one can have.
  struct Claim {
    std::vector<Selector> select = {};
    std::string mig = {};
    InMigMode in_mig_mode = InMigMode::kLeftOut;
    std::vector<Selector> exclude = {};
    bool operator==(const Claim&) const = default;
  };
  std::vector<Claim> earlier = {};
  // The family's name with "{profile}", if the resource is of a family; else empty.
  std::string family = {};

  // The names of devices in containers: UUIDs, or NVML's indices, "3", "3:1" for a MIG device.
  nvidia::IdStrategy id_strategy = nvidia::IdStrategy::kUuid;
  // The features that containers get besides their GPUs.
  std::vector<nvidia::Feature> features = {};
  nvidia::Imex imex = nvidia::Imex::kNone;
  // The vendor of the CDI documents that the agent writes; empty: it writes none.
  std::string cdi_vendor = {};
  std::string cdi_hook_path = {};  // of nvidia-cdi-hook or nvidia-ctk, on the host; empty: search
  std::vector<nvidia::CdiPiece> cdi_leave_out = {};
  // True: the agent does not start without a driver.
  bool fail_on_init_error = false;

  // The XIDs whose class differs from xid.def.
  struct XidRule {
    int xid = 0;
    nvidia::XidClass xid_class = nvidia::XidClass::kRecover;
    bool operator==(const XidRule&) const = default;
  };
  std::vector<XidRule> xids = {};
  nvidia::OtherXids other_xids = nvidia::OtherXids::kTable;
  // The shortest time that a GPU stays out after the last XID of these classes, whatever its checks
  // show.
  struct Probation {
    Duration recover = nvidia::XidPolicy().recover_probation;
    Duration reset = nvidia::XidPolicy().reset_probation;
    bool operator==(const Probation&) const = default;
  };
  Probation probation = {};

  // The settings of `policy: mps`.
  struct Mps {
    bool on = false;                       // the resource's policy is MPS
    std::string root = "/run/nvidia/mps";  // the directory of MPS on the host
    std::string container_root = {};       // the same in our programs; empty: as on the host
    int memory = 0;                        // a client's part of a GPU, MiB; 0: an equal part
    int threads = 0;                       // a client's part of a GPU, percent; 0: an equal part
    // Another size for GPUs that meet all conditions; the first match counts.
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

  // The settings of `policy: vgpu`.
  struct Vgpu {
    bool on = false;                               // the resource's policy is vgpu
    std::string directory = "/usr/local/vgpu";     // on the host and in containers
    std::string lock_directory = "/tmp/vgpulock";  // no longer used
    std::string library = {};                      // on the host; empty: the one in `directory`
    std::string install = {};  // the agent's own copy, to install from; empty: none
    bool enforced = true;      // every container gets the library
    // The virtual GPUs by number, from 0; none: equal parts.
    struct Size {
      int memory = 0;  // MiB
      int cores = 0;   // percent
      bool operator==(const Size&) const = default;
    };
    std::vector<Size> sizes = {};
    // Who sets the size of a virtual GPU: this configuration, or its pod.
    enum class Mode : uint8_t { kEqual, kRequested };
    Mode mode = Mode::kEqual;
    // The other settings of mode `requested`, as the site's webhook and scheduler have them.
    FractionRequests requests = hami::kNvidia.Requests();
    double memory_scaling = 1;
    double core_scaling = 1;
    // The library's settings: its log, when it limits compute time, and which work goes first;
    // empty: unset.
    std::string log_level = {};
    std::string core_policy = {};
    std::string task_priority = {};
    bool memory_by_driver = false;  // the driver enforces it; the library only shows it
    bool pod_may_tune = false;      // a pod's own variables win over these three
    bool may_disable_control = false;
    // The registration with HAMi's scheduler (report/hami_registration.h).
    struct Hami {
      bool registered = true;  // in mode kRequested
      bool topology_scores = false;
      bool before_2_8 = false;  // the format and handshake of HAMi up to 2.7
      bool operator==(const Hami&) const = default;
    };
    Hami hami = {};
    bool operator==(const Vgpu&) const = default;
  };
  Vgpu vgpu = {};
  bool operator==(const NvidiaConfig&) const = default;
};

}  // namespace tessera
