// SPDX-License-Identifier: Apache-2.0
#include "kubelet/wire.h"

#include <google/protobuf/arena.h>

#include <iterator>

#include "kubelet/fields.h"

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

using Response = v1beta1::ContainerAllocateResponse;

// An entry of a map of texts, which is a message with two fields.
void PutPair(int field, std::string_view key, std::string_view value, std::string& out) {
  PutHead(field, FieldSize(key.size()) + FieldSize(value.size()), out);
  PutText(1, key, out);
  PutText(2, value, out);
}

void PutMount(const Mount& mount, std::string& out) {
  using v1beta1::Mount;
  const size_t paths = FieldSize(mount.container_path.size()) + FieldSize(mount.host_path.size());
  PutHead(Response::kMountsFieldNumber, paths + (mount.read_only ? NumberSize(1) : 0), out);
  PutText(Mount::kContainerPathFieldNumber, mount.container_path, out);
  PutText(Mount::kHostPathFieldNumber, mount.host_path, out);
  if (mount.read_only) PutNumber(Mount::kReadOnlyFieldNumber, 1, out);
}

void PutNode(const DeviceNode& node, std::string& out) {
  using v1beta1::DeviceSpec;
  PutHead(Response::kDevicesFieldNumber,
          FieldSize(node.container_path.size()) + FieldSize(node.host_path.size()) +
              FieldSize(node.permissions.size()),
          out);
  PutText(DeviceSpec::kContainerPathFieldNumber, node.container_path, out);
  PutText(DeviceSpec::kHostPathFieldNumber, node.host_path, out);
  PutText(DeviceSpec::kPermissionsFieldNumber, node.permissions, out);
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

std::optional<std::vector<std::vector<std::string>>> ReadAllocateRequest(
    const grpc::ByteBuffer& request) {
  grpc::Slice bytes;
  if (request.Length() > 0 && !request.TrySingleSlice(&bytes).ok() &&
      !request.DumpToSingleSlice(&bytes).ok()) {
    return {};
  }
  // Its messages live on the stack, as long as they are few.
  alignas(8) char buffer[1024];
  google::protobuf::Arena arena(buffer, sizeof buffer);
  auto* message = google::protobuf::Arena::CreateMessage<v1beta1::AllocateRequest>(&arena);
  if (!message->ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) return {};
  std::vector<std::vector<std::string>> ids;
  for (v1beta1::ContainerAllocateRequest& container : *message->mutable_container_requests()) {
    auto* field = container.mutable_devices_ids();
    ids.emplace_back(std::move_iterator(field->begin()), std::move_iterator(field->end()));
  }
  return ids;
}

void PutGrant(const Grant& grant, std::string& out) {
  std::string body;
  for (const auto& [name, value] : grant.envs) {
    PutPair(Response::kEnvsFieldNumber, name, value, body);
  }
  for (const Mount& mount : grant.mounts) PutMount(mount, body);
  for (const DeviceNode& node : grant.devices) PutNode(node, body);
  for (const auto& [key, value] : grant.annotations) {
    PutPair(Response::kAnnotationsFieldNumber, key, value, body);
  }
  for (const std::string& name : grant.cdi_devices) {
    PutHead(Response::kCdiDevicesFieldNumber, FieldSize(name.size()), body);
    PutText(v1beta1::CDIDevice::kNameFieldNumber, name, body);
  }
  PutText(v1beta1::AllocateResponse::kContainerResponsesFieldNumber, body, out);
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
