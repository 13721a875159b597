// SPDX-License-Identifier: Apache-2.0
#include "kubelet/wire.h"

#include <gtest/gtest.h>

namespace tessera::kubelet {
namespace {

TEST(WireTest, AGrantArrivesAsItWasSent) {
  Grant grant;
  grant.envs["DUMMY_VISIBLE_DEVICES"] = "0,1";
  grant.mounts = {{"/etc", "/opt/npu", true}};
  grant.devices = {{"/dev/null", "/dev/npu0", "rw"}};
  grant.annotations["cdi.k8s.io/tessera"] = "dummy.com/npu=0";
  grant.cdi_devices = {"dummy.com/npu=0"};

  v1beta1::ContainerAllocateResponse response;
  ToWire(grant, response);

  EXPECT_EQ(FromWire(response), grant);
}

TEST(WireTest, AnErrorBecomesACodeForProgramsAndTextForPeople) {
  struct Case {
    Reason reason;
    grpc::StatusCode code;
  };
  for (const Case& each : {Case{Reason::kUnknownShare, grpc::StatusCode::NOT_FOUND},
                           Case{Reason::kUnhealthyShare, grpc::StatusCode::FAILED_PRECONDITION},
                           Case{Reason::kPathConflict, grpc::StatusCode::FAILED_PRECONDITION},
                           Case{Reason::kEmptyRequest, grpc::StatusCode::INVALID_ARGUMENT},
                           Case{Reason::kDuplicateShare, grpc::StatusCode::INVALID_ARGUMENT},
                           Case{Reason::kResetTimedOut, grpc::StatusCode::DEADLINE_EXCEEDED},
                           Case{Reason::kResetFailed, grpc::StatusCode::INTERNAL}}) {
    Error error{each.reason, "dummy.com/npu: no"};

    grpc::Status status = ToGrpc(error);

    EXPECT_EQ(status.error_code(), each.code) << ReasonName(each.reason);
    EXPECT_EQ(status.error_message(), error.Text());
  }
}

TEST(WireTest, AFailedCallNamesWhatWasCalled) {
  EXPECT_EQ(
      FromGrpc({grpc::StatusCode::UNKNOWN, "the ResourceName \"x\" is invalid"}, "registering x"),
      (Error{Reason::kRegisterFailed, "registering x: the ResourceName \"x\" is invalid"}));
}

TEST(WireTest, AConnectionThatFailedIsToldInPlainWords) {
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNAVAILABLE,
                      "failed to connect to all addresses; last error: UNKNOWN: unix:/run/k.sock: "
                      "No such file or directory"},
                     "asking /run/k.sock"),
            (Error{Reason::kUnavailable,
                   "asking /run/k.sock: kubelet does not answer: No such file or directory"}));
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNAVAILABLE, "Socket closed"}, "registering x"),
            (Error{Reason::kUnavailable, "registering x: kubelet does not answer: Socket closed"}));
  EXPECT_EQ(FromGrpc({grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"}, "registering x"),
            (Error{Reason::kTimedOut, "registering x: kubelet does not answer in time"}));
}

}  // namespace
}  // namespace tessera::kubelet
