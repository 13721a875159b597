// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_view.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

json::Value Inventory() {
  return json::Parse(R"({
    "node": "worker-1", "generation": 12,
    "agent": {"version": "0.1.0", "commit": "abc", "pid": 42, "writer": true},
    "resources": [
      {"name": "dummy.com/npu", "policy": "whole", "capacity": 4, "allocatable": 2, "held": 1,
       "registration": "kubelet-socket", "state": "streaming", "socket": "tessera-a1.sock",
       "listBytes": 248},
      {"name": "example.com/tty", "policy": "replicas", "capacity": 0, "allocatable": 0, "held": 0,
       "registration": "kubelet-socket", "state": "waiting", "socket": "",
       "listBytes": 0}],
    "devices": [
      {"source": "dummy.com/npu", "id": "0", "model": "dummy NPU", "visibleAs": "0",
       "numaNodes": [0], "present": true, "offered": true, "state": "healthy", "reason": "",
       "detail": "", "since": "2026-11-20T18:00:00.000Z", "cordon": null, "shares": ["0"],
       "holders": [{"namespace": "default", "pod": "train-0", "uid": "u1", "container": "main",
                    "shares": ["0"]}], "nodes": [], "mounts": []},
      {"source": "dummy.com/npu", "id": "1", "model": "dummy NPU", "visibleAs": "1",
       "numaNodes": [0], "present": true, "offered": true, "state": "suspect",
       "reason": "", "detail": "", "since": "2026-11-20T18:00:01.000Z",
       "cordon": null, "shares": ["1"], "holders": [], "nodes": [], "mounts": []},
      {"source": "dummy.com/npu", "id": "2", "model": "dummy NPU", "visibleAs": "2",
       "numaNodes": [1], "present": true, "offered": false, "state": "unhealthy",
       "reason": "check-failed", "detail": "ECC error in bank 3, row 1024, seen by the memory scrubber",
       "since": "2026-11-20T18:00:02.000Z", "cordon": null, "shares": ["2"],
       "holders": [{"namespace": "", "pod": "", "uid": "2f1c", "container": "init",
                    "shares": ["2"]}], "nodes": [], "mounts": []},
      {"source": "dummy.com/npu", "id": "3", "model": "dummy NPU", "visibleAs": "3",
       "numaNodes": [0, 1], "present": true, "offered": false, "state": "healthy",
       "reason": "cordoned", "detail": "cordoned: fan is loud", "since": "2026-11-20T18:00:03.000Z",
       "cordon": {"reason": "fan is loud", "since": "2026-11-20T19:00:00.000Z"},
       "shares": ["3"], "holders": [], "nodes": [], "mounts": []}]})")
      .value();
}

json::Value Ledger() {
  return json::Parse(R"({"reconciled": true, "podResources": "ok", "holdings": [], "pending": []})")
      .value();
}

TEST(DevicesText, FitsIntoEightyColumns) {
  EXPECT_EQ(DevicesText(Inventory(), Ledger(), Detail::kUsual, {.columns = 80, .color = false}),
            R"(node worker-1, agent 0.1.0, inventory 12

RESOURCE         POLICY    CAPACITY  ALLOCATABLE  HELD  KUBELET
dummy.com/npu    whole            4            2     1  streaming
example.com/tty  replicas         0            0     0  waiting

DEVICE           STATE      NUMA  HELD BY          WHY
dummy.com/npu/0  healthy    0     default/train-0
dummy.com/npu/1  suspect    0
dummy.com/npu/2  unhealthy  1     pod 2f1c         check-failed: ECC error in b…
dummy.com/npu/3  cordoned   0,1                    fan is loud

4 devices: 1 cordoned, 1 healthy, 1 suspect, 1 unhealthy
)");
}

TEST(DevicesText, NothingIsCutOutsideATerminal) {
  std::string text = DevicesText(Inventory(), Ledger(), Detail::kUsual, {});

  EXPECT_NE(text.find("check-failed: ECC error in bank 3, row 1024, seen by the memory scrubber\n"),
            text.npos);
}

TEST(DevicesText, WideFitsIntoTwoHundredColumns) {
  EXPECT_EQ(DevicesText(Inventory(), Ledger(), Detail::kWide, {.columns = 200, .color = false}),
            R"(node worker-1, agent 0.1.0, inventory 12

RESOURCE         POLICY    CAPACITY  ALLOCATABLE  HELD  KUBELET    LIST BYTES  PATH            SOCKET
dummy.com/npu    whole            4            2     1  streaming         248  kubelet-socket  tessera-a1.sock
example.com/tty  replicas         0            0     0  waiting             0  kubelet-socket

DEVICE           MODEL      VISIBLE AS  STATE      SINCE                     OFFERED  NUMA  SHARES  HELD BY                   WHY
dummy.com/npu/0  dummy NPU  0           healthy    2026-11-20T18:00:00.000Z  yes      0     0       default/train-0/main (0)
dummy.com/npu/1  dummy NPU  1           suspect    2026-11-20T18:00:01.000Z  yes      0     1
dummy.com/npu/2  dummy NPU  2           unhealthy  2026-11-20T18:00:02.000Z  no       1     2       pod 2f1c/init (2)         check-failed: ECC error in bank 3, row 1024, seen by the memory scrubber
dummy.com/npu/3  dummy NPU  3           cordoned   2026-11-20T18:00:03.000Z  no       0,1   3                                 fan is loud

4 devices: 1 cordoned, 1 healthy, 1 suspect, 1 unhealthy
)");
}

TEST(DevicesText, WideTellsWhereADeviceIsPluggedIn) {
  const json::Value inventory = json::Parse(R"({"node": "n", "generation": 1, "resources": [],
    "agent": {"version": "0.1.0", "writer": true}, "devices": [
      {"source": "nvidia.com/gpu", "id": "GPU-1", "model": "NVIDIA A100", "address": "0000:47:00.0",
       "visibleAs": "GPU-1", "state": "healthy", "offered": true, "present": true}]})")
                                    .value();

  const std::string text = DevicesText(inventory, json::Object(), Detail::kWide, {.columns = 200});

  EXPECT_NE(
      text.find("DEVICE                MODEL        ADDRESS       VISIBLE AS  STATE    OFFERED\n"
                "nvidia.com/gpu/GPU-1  NVIDIA A100  0000:47:00.0  GPU-1       healthy  yes\n"),
      text.npos)
      << text;
}

TEST(DevicesText, StatesAreColouredOnATerminal) {
  std::string text =
      DevicesText(Inventory(), Ledger(), Detail::kUsual, {.columns = 80, .color = true});

  EXPECT_NE(text.find("\x1b[32mhealthy\x1b[0m"), text.npos);
  EXPECT_NE(text.find("\x1b[33msuspect\x1b[0m"), text.npos);
  EXPECT_NE(text.find("\x1b[31munhealthy\x1b[0m"), text.npos);
}

TEST(DevicesText, SaysWhatIsNotCertain) {
  json::Value inventory = json::Parse(R"({"node": "n", "generation": 1, "resources": [],
    "devices": [], "agent": {"version": "0.1.0", "writer": false}})")
                              .value();
  json::Value ledger = json::Parse(R"({"reconciled": false, "podResources": "ok",
    "pending": [{"resource": "dummy.com/npu", "shares": ["7", "8"], "ageSeconds": 12}]})")
                           .value();

  EXPECT_EQ(DevicesText(inventory, ledger, Detail::kUsual, {}),
            R"(node n, agent 0.1.0, inventory 1

no resources are configured

0 devices
note: another instance writes the state; this one serves from memory
note: kubelet has not reported the holders yet
note: granted 12 s ago and not yet confirmed by kubelet: dummy.com/npu 7 8
)");
}

TEST(DevicesText, SaysWhichDevicesWaitForTheirPolicy) {
  json::Value inventory = json::Parse(R"({"devices": [], "resources": [
    {"name": "dummy.com/npu", "waiting": {"devices": 1, "policy": "4 replicas"}},
    {"name": "dummy.com/tpu", "waiting": {"devices": 2, "policy": "whole"}}]})")
                              .value();

  const std::string text = DevicesText(inventory, Ledger(), Detail::kUsual, {});

  EXPECT_EQ(text.substr(text.find("note: ")),
            "note: dummy.com/npu: 1 device not yet divided as configured (4 replicas): a container "
            "may hold a share\n"
            "note: dummy.com/tpu: 2 devices not yet divided as configured (whole): a container may "
            "hold a share\n");
}

TEST(DevicesText, SaysWhyKubeletCouldNotBeAsked) {
  auto note_of = [](const char* ledger) {
    std::string text = DevicesText(json::Object{}, json::Parse(ledger).value(), Detail::kUsual, {});
    return text.substr(text.find("note: "));
  };

  EXPECT_EQ(note_of(R"({"reconciled": false, "podResources": "nobody listens"})"),
            "note: the holders are not known yet: nobody listens\n");
  EXPECT_EQ(note_of(R"({"reconciled": true, "podResources": "nobody listens"})"),
            "note: the holders may be out of date: nobody listens\n");
}

TEST(DevicesText, DeviceThatIsGoneIsNotCalledHealthy) {
  json::Value inventory = json::Parse(R"({"node": "n", "generation": 1,
    "agent": {"version": "0.1.0", "writer": true},
    "resources": [{"name": "example.com/tty", "policy": "whole", "capacity": 1, "allocatable": 0,
                   "held": 0, "state": "backoff",
                   "error": "example.com/tty: list of 5 MB [list-too-large]: ..."}],
    "devices": [{"source": "example.com/tty", "id": "a", "present": false, "offered": false,
                 "state": "healthy", "reason": "vanished", "detail": "it is no longer there",
                 "cordon": null, "holders": []}]})")
                              .value();

  EXPECT_EQ(DevicesText(inventory, Ledger(), Detail::kUsual, {}),
            R"(node n, agent 0.1.0, inventory 1

RESOURCE         POLICY  CAPACITY  ALLOCATABLE  HELD  KUBELET
example.com/tty  whole          1            0     0  backoff

DEVICE             STATE     WHY
example.com/tty/a  vanished  it is no longer there

1 device: 1 vanished
note: example.com/tty: list of 5 MB [list-too-large]: ...
)");
}

TEST(DevicesText, DeviceThatWasLetGoOfIsReleased) {
  json::Value inventory = json::Parse(R"({"node": "n", "generation": 1,
    "agent": {"version": "0.1.0", "writer": true}, "resources": [],
    "devices": [{"source": "nvidia.com/gpu", "id": "GPU-1", "present": true, "offered": false,
                 "state": "unverified", "reason": "released", "detail": "closed until noon",
                 "cordon": null, "holders": []}]})")
                              .value();

  const std::string text = DevicesText(inventory, Ledger(), Detail::kUsual, {});

  EXPECT_NE(text.find("nvidia.com/gpu/GPU-1  released  closed until noon\n"), text.npos) << text;
}

TEST(DevicesText, DocumentsOfAnotherShapeShowAsNothing) {
  EXPECT_EQ(DevicesText(json::Value(7), json::Value("x"), Detail::kUsual, {}),
            "node , agent , inventory \n\nno resources are configured\n\n0 devices\n");
}

}  // namespace
}  // namespace tessera::cli
