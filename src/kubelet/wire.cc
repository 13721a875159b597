// SPDX-License-Identifier: Apache-2.0
#include "kubelet/wire.h"

namespace tessera::kubelet {
namespace {

grpc::StatusCode CodeOf(Reason reason) {
  switch (reason) {
    case Reason::kUnknownShare:
    case Reason::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Reason::kUnhealthyShare:
    case Reason::kNotOffered:
    case Reason::kPathConflict:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Reason::kEmptyRequest:
    case Reason::kDuplicateShare:
    case Reason::kTooManyShares:
    case Reason::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Reason::kTimedOut:
    case Reason::kResetTimedOut:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Reason::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

// gRPC's account of a connection that failed ends with the system's: "failed to connect to all
// addresses; last error: UNKNOWN: unix:/run/a.sock: Connection refused".
std::string SystemWords(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

}  // namespace

grpc::Status ToGrpc(const Error& error) {
  return {CodeOf(error.reason), error.Text()};
}

Error FromGrpc(const grpc::Status& status, std::string_view what) {
  Error error{Reason::kRegisterFailed, status.error_message()};
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    error = {Reason::kUnavailable,
             "kubelet does not answer: " + SystemWords(status.error_message())};
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    error = {Reason::kTimedOut, "kubelet does not answer in time"};
  }
  return error.In(what);
}

void ToWire(const Grant& grant, v1beta1::ContainerAllocateResponse& response) {
  for (const auto& [name, value] : grant.envs) (*response.mutable_envs())[name] = value;
  for (const Mount& mount : grant.mounts) {
    auto* out = response.add_mounts();
    out->set_host_path(mount.host_path);
    out->set_container_path(mount.container_path);
    out->set_read_only(mount.read_only);
  }
  for (const DeviceNode& node : grant.devices) {
    auto* out = response.add_devices();
    out->set_host_path(node.host_path);
    out->set_container_path(node.container_path);
    out->set_permissions(node.permissions);
  }
  for (const auto& [key, value] : grant.annotations) (*response.mutable_annotations())[key] = value;
  for (const std::string& name : grant.cdi_devices) response.add_cdi_devices()->set_name(name);
}

Grant FromWire(const v1beta1::ContainerAllocateResponse& response) {
  Grant grant;
  grant.envs.insert(response.envs().begin(), response.envs().end());
  for (const auto& mount : response.mounts()) {
    grant.mounts.push_back({mount.host_path(), mount.container_path(), mount.read_only()});
  }
  for (const auto& node : response.devices()) {
    grant.devices.push_back({node.host_path(), node.container_path(), node.permissions()});
  }
  grant.annotations.insert(response.annotations().begin(), response.annotations().end());
  for (const auto& device : response.cdi_devices()) grant.cdi_devices.push_back(device.name());
  return grant;
}

}  // namespace tessera::kubelet
