// SPDX-License-Identifier: Apache-2.0
#include "hami/mig_allocations.h"

#include <set>
#include <utility>

#include "hami/members.h"
#include "hami/names.h"
#include "json/json.h"

namespace tessera::hami {
namespace {

constexpr std::string_view kUuidKey = "migUUID";
constexpr std::string_view kGpuInstanceKey = "gpuInstanceID";
constexpr std::string_view kComputeInstanceKey = "computeInstanceID";

json::Object AllocationJson(const MigAllocation& allocation) {
  const MigPlacement& placement = allocation.placement;
  json::Object object = {
      {"containerIndex", allocation.container_index},
      {"deviceIndex", allocation.device_index},
      {"gpuUUID", allocation.gpu_uuid},
      {"profile", allocation.profile},
      {"placement", json::Object{{"start", placement.start}, {"size", placement.size}}}};
  if (allocation.instance) {
    object[kUuidKey] = allocation.instance->uuid;
    object[kGpuInstanceKey] = allocation.instance->gpu_instance;
    object[kComputeInstanceKey] = allocation.instance->compute_instance;
  }
  return object;
}

// 0 is a valid id. A missing or null member is no id, nor is an empty UUID.
Result<std::optional<MigInstance>> ReadInstance(const json::Object& object) {
  MigInstance instance;
  TRY(ReadMember(object, kUuidKey, instance.uuid));
  int there = instance.uuid.empty() ? 0 : 1;
  for (const std::string_view key : {kGpuInstanceKey, kComputeInstanceKey}) {
    const json::Value* value = object.if_contains(key);
    if (value != nullptr && !value->is_null()) ++there;
  }
  TRY(ReadMember(object, kGpuInstanceKey, instance.gpu_instance));
  TRY(ReadMember(object, kComputeInstanceKey, instance.compute_instance));
  if (there == 0) return std::nullopt;
  if (there == 3) return instance;
  return Fail(Reason::kInvalid, "it has not all or none of {}, {} and {}, but {}", kUuidKey,
              kGpuInstanceKey, kComputeInstanceKey, there);
}

Result<MigAllocation> ReadAllocation(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  MigAllocation allocation;
  TRY(ReadMember(object, "containerIndex", allocation.container_index));
  TRY(ReadMember(object, "deviceIndex", allocation.device_index));
  TRY(ReadMember(object, "gpuUUID", allocation.gpu_uuid));
  TRY(ReadMember(object, "profile", allocation.profile));
  const json::Value* placement = object.if_contains("placement");
  if (placement != nullptr && !placement->is_null()) {
    const json::Object& parts = *TRY_IN(AsObject(*placement), "placement");
    TRY_IN(ReadMember(parts, "start", allocation.placement.start), "placement");
    TRY_IN(ReadMember(parts, "size", allocation.placement.size), "placement");
  }
  if (allocation.container_index < 0 || allocation.device_index < 0) {
    return Fail(Reason::kInvalid, "an index is negative");
  }
  if (allocation.gpu_uuid.empty()) return Fail(Reason::kInvalid, "it has no gpuUUID");
  if (allocation.profile.empty()) return Fail(Reason::kInvalid, "it has no profile");
  if (allocation.placement.size == 0) return Fail(Reason::kInvalid, "it has no placement");
  allocation.instance = TRY(ReadInstance(object));
  return allocation;
}

}  // namespace

std::string EncodeMigAllocations(std::span<const MigAllocation> allocations) {
  if (allocations.empty()) return {};
  json::Array array;
  for (const MigAllocation& allocation : allocations) array.push_back(AllocationJson(allocation));
  return json::Write(array);
}

Result<std::vector<MigAllocation>> DecodeMigAllocations(std::string_view text) {
  std::vector<MigAllocation> allocations;
  if (text.empty()) return allocations;
  const json::Value root = TRY_IN(json::Parse(text), kPodMigAllocations);
  TRY_IN(ReadList(root, "allocation", ReadAllocation, allocations), kPodMigAllocations);
  std::set<std::pair<int32_t, int32_t>> seen;
  for (const MigAllocation& one : allocations) {
    if (!seen.emplace(one.container_index, one.device_index).second) {
      return Fail(Reason::kInvalid, "{}: two allocations are for device {} of container {}",
                  kPodMigAllocations, one.device_index, one.container_index);
    }
  }
  return allocations;
}

}  // namespace tessera::hami
