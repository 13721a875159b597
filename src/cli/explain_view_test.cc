// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_view.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(ExplainText, EveryCandidateWithItsGrant) {
  json::Value answer = json::Parse(R"({"candidates": [
    {"source": "dummy.com/npu", "id": "7", "offered": true, "resource": "dummy.com/npu",
     "shares": ["7::0", "7::1"], "numaNodes": [0, 1],
     "why": "it is healthy since 18:00 and nobody has taken it out by hand, so kubelet may give it to pods",
     "grant": {"envs": {"DUMMY_VISIBLE_DEVICES": "7"},
               "mounts": [{"hostPath": "/var/lib/npu/7", "containerPath": "/npu", "readOnly": true},
                          {"hostPath": "/run/npu", "containerPath": "/run/npu", "readOnly": false}],
               "devices": [{"hostPath": "/dev/npu7", "containerPath": "/dev/npu7", "permissions": "rw"}],
               "annotations": {"cdi.k8s.io/tessera": "dummy.com/npu=7"},
               "cdiDevices": ["dummy.com/npu=7"]}},
    {"source": "dummy.com/npu", "id": "8", "offered": false, "resource": "", "shares": [],
     "numaNodes": [], "why": "check-failed: ECC error", "grant": null}]})")
                           .value();

  EXPECT_EQ(ExplainText(answer, {.columns = 80, .color = false}),
            R"(dummy.com/npu/7: offered as dummy.com/npu
  why         it is healthy since 18:00 and nobody has taken it out by hand, so
              kubelet may give it to pods
  ids         7::0 7::1
  numa        0,1
  env         DUMMY_VISIBLE_DEVICES=7
  mount       /var/lib/npu/7 -> /npu (read-only)
  mount       /run/npu (writable)
  device      /dev/npu7 (rw)
  annotation  cdi.k8s.io/tessera=dummy.com/npu=7
  cdi         dummy.com/npu=7

dummy.com/npu/8: not offered
  why         check-failed: ECC error
)");
}

TEST(ExplainText, APairSaysWhatItIsMadeOf) {
  const json::Value answer = json::Parse(R"({"candidates": [
    {"source": "a.com/gpu-nic", "id": "0_1", "offered": true, "resource": "a.com/gpu-nic",
     "model": "GPU + mlx5_1, behind one switch", "parts": ["a.com/gpu/0", "b.com/nic/1"],
     "shares": ["0_1"], "numaNodes": [0], "why": "healthy, offered as 1 share", "grant": null}]})")
                                 .value();

  EXPECT_EQ(ExplainText(answer, {.columns = 80, .color = false}),
            R"(a.com/gpu-nic/0_1: offered as a.com/gpu-nic
  model       GPU + mlx5_1, behind one switch
  parts       a.com/gpu/0 b.com/nic/1
  why         healthy, offered as 1 share
  ids         0_1
  numa        0
)");
}

TEST(ExplainText, NoCandidates) {
  EXPECT_EQ(ExplainText(json::Parse(R"({"candidates": []})").value(), {}),
            "no devices were found\n");
}

}  // namespace
}  // namespace tessera::cli
