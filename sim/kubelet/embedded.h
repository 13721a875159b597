// SPDX-License-Identifier: Apache-2.0
// The embedded kubelet: a faithful stand-in for kubelet's device manager, for trying plugins out
// with no cluster. It speaks kubelet's side of the wire (registration, dial-back, options, streams,
// preferred allocation, allocate, pre-start, plugin watcher, pod-resources), keeps kubelet's
// checkpoint and obeys the rules of kubelet 1.36 or 1.37, whichever is chosen. It knows nothing of
// Tessera's agent: any device plugin can be developed against it.
//
// Threads: it has its own; every method may be called from any thread. Listener calls come one at a
// time from one of those threads, never while a lock of the embedded kubelet is held; a listener
// must not call what blocks (RunPod, RestartContainer, WaitUntil, Stop, Kill).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "grant/grant.h"

namespace tessera::kubelet {

enum class ConnectionRules : uint8_t {
  kUpTo136,  // the newest Register wins; the end of an older stream disconnects the newer one
  kFrom137,  // endpoints are keyed by resource and socket path; a path still connected is refused
};

struct KubeletEvent;

struct EmbeddedOptions {
  std::string root;  // holds device-plugins, plugins_registry and pod-resources; made when missing
  ConnectionRules rules = ConnectionRules::kUpTo136;
  // How long a stopped endpoint's capacity is kept: five minutes in kubelet.
  Duration grace{300'000};
  // Divides every wait of kubelet's that is long for a test (plugin watcher's reconcile period and
  // back-off, grace): 1 is real time.
  int speed = 1;
  uint64_t seed =
      1;  // of the random order in which ids are offered and chosen, as kubelet's maps do
  std::function<void(const KubeletEvent&)> listener;  // as SetListener, from the start on
};

struct ContainerSpec {
  enum class Kind : uint8_t { kApp, kInit, kSidecar };
  std::string name;
  Kind kind = Kind::kApp;
  std::map<std::string, int> limits;  // resource -> count
};

struct PodSpec {
  std::string pod_namespace = "default";
  std::string name;
  std::string uid;                        // empty: one is made
  std::vector<ContainerSpec> containers;  // init containers and sidecars first, in order
};

// What one container got of one resource.
struct ContainerGrant {
  std::string container;
  std::string resource;
  std::vector<std::string> ids;  // natural order
  Grant response;                // Allocate's answer, as received
};

// What became of a pod.
struct Admission {
  bool admitted = false;
  std::string uid;
  std::string reason;   // "UnexpectedAdmissionError", "OutOfdummy.com/npu", ... when refused
  std::string message;  // what a user reads in the pod's status
  std::vector<ContainerGrant> grants;
  // A container that could not be started (pre-start refused): kubelet would retry it.
  std::vector<std::pair<std::string, std::string>> start_failures;  // container, message
};

struct DeviceStatus {
  std::string id;
  bool healthy = false;
  std::vector<int> numa_nodes;
  std::string pod_namespace, pod, container;  // who holds it; empty when free
};

struct ResourceStatus {
  std::string name;
  int capacity = 0;
  int allocatable = 0;
  bool connected = false;             // a stream is open
  std::vector<DeviceStatus> devices;  // natural order
};

// Something that happened, for logs and views.
struct KubeletEvent {
  enum class Kind : uint8_t {
    kRegistered,
    kRegisterRefused,
    kStreamOpened,
    kList,
    kStreamEnded,
    kAdmitted,
    kRefused,
    kContainerStarted,
    kStartFailed,
    kPodEnded,
    kStarted,
    kStopped
  };
  Kind kind;
  Steady at{};
  std::string resource;  // empty when none is concerned
  std::string text;      // one sentence for people
};

class EmbeddedKubelet {
 public:
  // Starts as kubelet does: reads the checkpoint, deletes the sockets in device-plugins, binds
  // kubelet.sock. The pods of the last run (kept in ROOT/pods.json, as the API server would) are
  // still running; a pod with a container that never came to start is admitted anew, and refused.
  static Result<std::unique_ptr<EmbeddedKubelet>> Start(const EmbeddedOptions& options);
  ~EmbeddedKubelet();  // Stop

  // Ends as on SIGTERM: connections closed, sockets removed. Pods keep running (the checkpoint has
  // them).
  void Stop();
  // Ends as on SIGKILL: nothing is tidied.
  void Kill();

  // Admits a pod and starts its containers, or refuses it, as kubelet would. Blocks meanwhile.
  Admission RunPod(const PodSpec& pod);
  // Ends a pod; its devices are free again. kNotFound when no such pod runs.
  Status EndPod(const std::string& pod_namespace, const std::string& name);
  // Starts a container again after it ended: pre-start with the cached grant.
  Status RestartContainer(const std::string& pod_namespace, const std::string& name,
                          const std::string& container);

  std::vector<ResourceStatus> Resources() const;
  // The grants of the running pods.
  std::vector<ContainerGrant> GrantsOf(const std::string& pod_namespace,
                                       const std::string& name) const;
  std::vector<std::string> Pods() const;  // "namespace/name"

  // Until `condition` holds for Resources(); false when `timeout` passed first. Looks again at
  // every change, without sleeping.
  bool WaitUntil(const std::function<bool(const std::vector<ResourceStatus>&)>& condition,
                 Duration timeout) const;

  // Called for every event from now on; nullptr ends it.
  void SetListener(std::function<void(const KubeletEvent&)> listener);

  // ---- faults
  // While on, Register is answered with OK and nothing follows: what kubelets after 1.37 do with a
  // socket that they take for connected.
  void AcceptRegisterButNeverStream(bool on);
  // While on, Register is not answered.
  void HangInRegister(bool on);
  // While on, no list of the resource's plugin is taken or, but for one, read; calls go on.
  // kNotFound when none is connected.
  Status HangInStream(const std::string& resource, bool on);
  // Takes plugins of that API version only, from the next Register on.
  void SpeakVersion(const std::string& version);
  // While on, its checkpoint is of a shape that kubelets up to 1.37 do not write.
  void ShapeCheckpointAnew(bool on);
  // Hangs up on the plugin of the resource. kNotFound when none is connected.
  Status DropStream(const std::string& resource);
  // Deletes the plugins' sockets from device-plugins, as a clean-up by other hands would;
  // connections stay.
  Status WipeSocketDirectory();

 private:
  struct Impl;
  explicit EmbeddedKubelet(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
