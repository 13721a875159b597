// SPDX-License-Identifier: Apache-2.0
#include "kubelet/wire.h"

#include <google/protobuf/arena.h>

#include <iterator>

#include "kubelet/checkpoint.h"
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

// The system's error at the end of gRPC's text: "failed to connect to all addresses; last error:
// UNKNOWN: unix:/run/a.sock: Connection refused".
std::string SystemWords(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

size_t SizeOf(std::string_view a, std::string_view b) {
  return FieldSize(a.size()) + FieldSize(b.size());
}
// A map entry is a message with two fields.
size_t SizeOf(const std::pair<const std::string, std::string>& entry) {
  return SizeOf(entry.first, entry.second);
}
size_t SizeOf(const Mount& mount) {
  return SizeOf(mount.container_path, mount.host_path) + (mount.read_only ? NumberSize(1) : 0);
}
size_t SizeOf(const DeviceNode& node) {
  return SizeOf(node.container_path, node.host_path) + FieldSize(node.permissions.size());
}
size_t SizeOf(const std::string& cdi_device) {
  return FieldSize(cdi_device.size());
}

void Write(const std::pair<const std::string, std::string>& entry, FieldWriter& out) {
  out.Text(1, entry.first);
  out.Text(2, entry.second);
}
void Write(const Mount& mount, FieldWriter& out) {
  out.Text(v1beta1::Mount::kContainerPathFieldNumber, mount.container_path);
  out.Text(v1beta1::Mount::kHostPathFieldNumber, mount.host_path);
  if (mount.read_only) out.Number(v1beta1::Mount::kReadOnlyFieldNumber, 1);
}
void Write(const DeviceNode& node, FieldWriter& out) {
  out.Text(v1beta1::DeviceSpec::kContainerPathFieldNumber, node.container_path);
  out.Text(v1beta1::DeviceSpec::kHostPathFieldNumber, node.host_path);
  out.Text(v1beta1::DeviceSpec::kPermissionsFieldNumber, node.permissions);
}
void Write(const std::string& cdi_device, FieldWriter& out) {
  out.Text(v1beta1::CDIDevice::kNameFieldNumber, cdi_device);
}

template <class Items>
size_t SizeOfAll(const Items& items) {
  size_t size = 0;
  for (const auto& item : items) size += FieldSize(SizeOf(item));
  return size;
}

template <class Items>
void WriteAll(int field, const Items& items, FieldWriter& out) {
  for (const auto& item : items) {
    out.Head(field, SizeOf(item));
    Write(item, out);
  }
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
  // The arena keeps small requests on the stack.
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

void WriteGrant(const Grant& grant, std::string& out) {
  using Response = v1beta1::ContainerAllocateResponse;
  const size_t size = SizeOfAll(grant.envs) + SizeOfAll(grant.mounts) + SizeOfAll(grant.devices) +
                      SizeOfAll(grant.annotations) + SizeOfAll(grant.cdi_devices);
  FieldWriter fields(out, FieldSize(size));
  fields.Head(v1beta1::AllocateResponse::kContainerResponsesFieldNumber, size);
  WriteAll(Response::kEnvsFieldNumber, grant.envs, fields);
  WriteAll(Response::kMountsFieldNumber, grant.mounts, fields);
  WriteAll(Response::kDevicesFieldNumber, grant.devices, fields);
  WriteAll(Response::kAnnotationsFieldNumber, grant.annotations, fields);
  WriteAll(Response::kCdiDevicesFieldNumber, grant.cdi_devices, fields);
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

Grant CheckpointEntry::grant() const {
  v1beta1::ContainerAllocateResponse response;
  return response.ParseFromString(allocate_response) ? FromWire(response) : Grant();
}

}  // namespace tessera::kubelet
