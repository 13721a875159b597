// SPDX-License-Identifier: Apache-2.0
// The embedded kubelet: a faithful stand-in for kubelet's device manager, to try plugins without a
// cluster. It speaks kubelet's side of the wire: registration, dial-back, options, streams,
// preferred allocation, allocate, pre-start, plugin watcher and pod-resources. It keeps kubelet's
// checkpoint and follows the chosen rules, of kubelet 1.36 or 1.37. It does not depend on Tessera's
// agent: any device plugin can be developed against it.
//
// It has its own threads; any thread may call every method. Listener calls come one at a time from
// one of those threads, never under a lock of the embedded kubelet. A listener must not call a
// blocking method: RunPod, RestartContainer, WaitUntil, Stop or Kill.
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
  std::string root;  // has device-plugins, plugins_registry and pod-resources; made if missing
  ConnectionRules rules = ConnectionRules::kUpTo136;
  // How long a stopped endpoint keeps its capacity: five minutes in kubelet.
  Duration grace{300'000};
  // Divides kubelet's waits that are long for a test: the plugin watcher's reconcile period and
  // back-off, and the grace. 1 is real time.
  int speed = 1;
  uint64_t seed =
      1;  // of the random order in which ids are offered and chosen, as kubelet's maps do
  std::function<void(const KubeletEvent&)> listener;  // as SetListener, from the start
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
  std::string uid;                        // empty: one is generated
  std::vector<ContainerSpec> containers;  // init containers and sidecars first, in order
};

// A container's grant of one resource.
struct ContainerGrant {
  std::string container;
  std::string resource;
  std::vector<std::string> ids;  // natural order
  Grant response;                // Allocate's answer, as received
};

// The result of a pod's admission.
struct Admission {
  bool admitted = false;
  std::string uid;
  std::string reason;   // if refused: "UnexpectedAdmissionError", "OutOfdummy.com/npu", ...
  std::string message;  // the message in the pod's status
  std::vector<ContainerGrant> grants;
  // Containers that did not start, as pre-start refused them. kubelet would retry.
  std::vector<std::pair<std::string, std::string>> start_failures;  // container, message
};

struct DeviceStatus {
  std::string id;
  bool healthy = false;
  std::vector<int> numa_nodes;
  std::string pod_namespace, pod, container;  // the holder; empty: free
};

struct ResourceStatus {
  std::string name;
  int capacity = 0;
  int allocatable = 0;
  bool connected = false;             // a stream is open
  std::vector<DeviceStatus> devices;  // natural order
};

// An event, for logs and views.
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
  std::string resource;  // empty: no resource
  std::string text;      // one sentence for people
};

class EmbeddedKubelet {
 public:
  // Starts as kubelet does: reads the checkpoint, deletes the sockets in device-plugins, binds
  // kubelet.sock. The pods of the last run still run; ROOT/pods.json keeps them as the API server
  // would. A pod with a container that never started is admitted again, and refused.
  static Result<std::unique_ptr<EmbeddedKubelet>> Start(const EmbeddedOptions& options);
  ~EmbeddedKubelet();  // Stop

  // Ends as on SIGTERM: closes connections and removes sockets. Pods keep running, as the
  // checkpoint has them.
  void Stop();
  // Ends as on SIGKILL, without any cleanup.
  void Kill();

  // Admits a pod and starts its containers, or refuses it, as kubelet would. Blocks.
  Admission RunPod(const PodSpec& pod);
  // Ends a pod and frees its devices. kNotFound: no such pod runs.
  Status EndPod(const std::string& pod_namespace, const std::string& name);
  // Starts an ended container again: pre-start with the cached grant.
  Status RestartContainer(const std::string& pod_namespace, const std::string& name,
                          const std::string& container);

  std::vector<ResourceStatus> Resources() const;
  // The grants of the running pods.
  std::vector<ContainerGrant> GrantsOf(const std::string& pod_namespace,
                                       const std::string& name) const;
  std::vector<std::string> Pods() const;  // "namespace/name"

  // Waits until `condition` holds for Resources(); false: `timeout` passed first. Checks at every
  // change, without sleeping.
  bool WaitUntil(const std::function<bool(const std::vector<ResourceStatus>&)>& condition,
                 Duration timeout) const;

  // Called for every later event; nullptr ends it.
  void SetListener(std::function<void(const KubeletEvent&)> listener);

  // ---- faults
  // While on, Register is answered with OK, but no stream follows. Kubelets after 1.37 do so with a
  // socket that they consider connected.
  void AcceptRegisterButNeverStream(bool on);
  // While on, Register is not answered.
  void HangInRegister(bool on);
  // While on, no list of the resource's plugin is delivered, and only one more is read. Other calls
  // go on. kNotFound: no plugin is connected.
  Status HangInStream(const std::string& resource, bool on);
  // Accepts only plugins of that API version, from the next Register on.
  void SpeakVersion(const std::string& version);
  // While on, the checkpoint has a shape that kubelets up to 1.37 do not write.
  void ShapeCheckpointAnew(bool on);
  // Ends the connection to the resource's plugin. kNotFound: no plugin is connected.
  Status DropStream(const std::string& resource);
  // Deletes the plugins' sockets in device-plugins, as another program's cleanup would. Connections
  // stay.
  Status WipeSocketDirectory();

 private:
  struct Impl;
  explicit EmbeddedKubelet(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
