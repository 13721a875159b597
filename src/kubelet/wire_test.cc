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

  std::string bytes;
  WriteGrant(grant, bytes);
  WriteGrant(Grant(), bytes);

  v1beta1::AllocateResponse response;
  ASSERT_TRUE(response.ParseFromString(bytes));
  ASSERT_EQ(response.container_responses_size(), 2);
  EXPECT_EQ(FromWire(response.container_responses(0)), grant);
  EXPECT_EQ(FromWire(response.container_responses(1)), Grant());
  EXPECT_EQ(response.SerializeAsString(), bytes);  // in protobuf's own order
}

grpc::ByteBuffer InPieces(std::string_view text, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < text.size(); i += size)
    slices.emplace_back(std::string(text.substr(i, size)));
  return {slices.data(), slices.size()};
}

using Ids = std::vector<std::vector<std::string>>;

TEST(WireTest, TheIdsOfEveryContainerAreRead) {
  v1beta1::AllocateRequest request;
  for (const char* id : {"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42::0", "1"}) {
    request.add_container_requests()->add_devices_ids(id);
  }
  request.add_container_requests();
  const std::string bytes = request.SerializeAsString();
  const Ids expected = {{"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42::0"}, {"1"}, {}};

  EXPECT_EQ(ReadAllocateRequest(InPieces(bytes, bytes.size())), expected);
  EXPECT_EQ(ReadAllocateRequest(InPieces(bytes, 3)), expected);
}

TEST(WireTest, ARequestWithoutContainersIsOne) {
  EXPECT_EQ(ReadAllocateRequest(InPieces("", 1)), Ids());
}

TEST(WireTest, WhatIsNoRequestIsNotRead) {
  EXPECT_EQ(ReadAllocateRequest(InPieces("\x0a\x05\x0a", 3)), std::nullopt);
  EXPECT_EQ(ReadAllocateRequest(InPieces("garbage", 7)), std::nullopt);
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
