// SPDX-License-Identifier: Apache-2.0
// HAMi's names that do not depend on the vendor (for those see vendor.h): annotations, labels, and
// a container's variables and paths. Plain data; any thread.
#pragma once

#include <string_view>

namespace tessera::hami {

// Annotations of a node.
inline constexpr std::string_view kNodeLock = "hami.io/mutex.lock";
// Comma-separated UUIDs, written by a person: these GPUs get no more pods.
inline constexpr std::string_view kNodeCordon = "hami.io/device-cordon";

// Annotations of a pod that the scheduler and the node write.
inline constexpr std::string_view kPodNode = "hami.io/vgpu-node";  // a label as well
inline constexpr std::string_view kPodTime = "hami.io/vgpu-time";  // unix seconds
// Written by AMD's plugin: the compute units of each granted device.
inline constexpr std::string_view kPodCuAllocated = "hami.io/amd-cu-allocated";
// The prefix of Ascend's keys (Vendor::pod_devices_json).
inline constexpr std::string_view kPodAscendDevices = "huawei.com/Ascend";
inline constexpr std::string_view kPodMigAllocations = "hami.io/vgpu-mig-allocations";
inline constexpr std::string_view kPodBindPhase = "hami.io/bind-phase";
inline constexpr std::string_view kPodBindTime = "hami.io/bind-time";  // unix seconds

// Values of the phase.
inline constexpr std::string_view kPhaseAllocating = "allocating";
inline constexpr std::string_view kPhaseSuccess = "success";
inline constexpr std::string_view kPhaseFailed = "failed";

// Annotations of a pod that its user writes.
inline constexpr std::string_view kNumaBind = "nvidia.com/numa-bind";
inline constexpr std::string_view kUseMode = "nvidia.com/vgpu-mode";
inline constexpr std::string_view kNodePolicy = "hami.io/node-scheduler-policy";
inline constexpr std::string_view kGpuPolicy = "hami.io/gpu-scheduler-policy";
inline constexpr std::string_view kScoringWeights = "hami.io/device-scoring-weights";

// A label of a pod or namespace: with the value "ignore" the webhook leaves it alone.
inline constexpr std::string_view kWebhookLabel = "hami.io/webhook";
inline constexpr std::string_view kWebhookIgnore = "ignore";
// A label of the scheduler's own pods: "leader" or "follower".
inline constexpr std::string_view kSchedulerRoleLabel = "hami.io/scheduler-role";

// Modes: how a GPU is divided.
inline constexpr std::string_view kModeCore = "hami-core";
inline constexpr std::string_view kModeMig = "mig";
inline constexpr std::string_view kModeMps = "mps";
inline constexpr std::string_view kModeTemplate = "template";

// Environment of a container. The first one is followed by the device's number, from 0.
inline constexpr std::string_view kEnvMemoryLimit = "CUDA_DEVICE_MEMORY_LIMIT_";
inline constexpr std::string_view kEnvSmLimit = "CUDA_DEVICE_SM_LIMIT";
inline constexpr std::string_view kEnvSharedCache = "CUDA_DEVICE_MEMORY_SHARED_CACHE";
inline constexpr std::string_view kEnvOversubscribe = "CUDA_OVERSUBSCRIBE";
inline constexpr std::string_view kEnvLogLevel = "LIBCUDA_LOG_LEVEL";
inline constexpr std::string_view kEnvCorePolicy = "GPU_CORE_UTILIZATION_POLICY";
inline constexpr std::string_view kEnvTaskPriority = "CUDA_TASK_PRIORITY";
// Set by a user: if true, the library is not preloaded.
inline constexpr std::string_view kEnvDisableControl = "CUDA_DISABLE_CONTROL";
inline constexpr std::string_view kEnvVisibleDevices = "NVIDIA_VISIBLE_DEVICES";

// Paths in a container. The first group is below the hook path, by default kHookPath.
inline constexpr std::string_view kHookPath = "/usr/local";
inline constexpr std::string_view kVgpuDirectory = "vgpu";
inline constexpr std::string_view kLibrary = "vgpu/libvgpu.so";
inline constexpr std::string_view kContainersDirectory = "vgpu/containers";
inline constexpr std::string_view kPreloadSource = "vgpu/ld.so.preload";
inline constexpr std::string_view kLockDirectory = "/tmp/vgpulock";
inline constexpr std::string_view kPreloadFile = "/etc/ld.so.preload";
inline constexpr std::string_view kLicenseFile = "/tmp/license";
inline constexpr std::string_view kValidator = "/usr/bin/vgpuvalidator";

// A resource that the webhook turns into a variable of the container.
inline constexpr std::string_view kPriorityResource = "nvidia.com/priority";

}  // namespace tessera::hami
