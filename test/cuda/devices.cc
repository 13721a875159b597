// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cuda/driver.h"

namespace tessera::fake_cuda {
namespace {

const Device* DeviceOf(CUdevice device) {
  const auto& devices = TheDriver()->node.devices;
  const bool is = device >= 0 && static_cast<size_t>(device) < devices.size();
  return is ? &devices[static_cast<size_t>(device)] : nullptr;
}

// Checks the arguments, and calls `give` with the device.
template <class Give>
CUresult Of(CUdevice device, const void* out, const Give& give) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Device* found = DeviceOf(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  give(*found);
  return CUDA_SUCCESS;
}

// Values of CUdevice_attribute that are the same for every device. Only those that programs read;
// any other attribute is 0.
constexpr std::pair<int, int> kAttributes[] = {
    // a block's threads and dimensions, a grid's dimensions
    {1, 1024},
    {2, 1024},
    {3, 1024},
    {4, 64},
    {5, 2147483647},
    {6, 65535},
    {7, 65535},
    // shared memory of a block, constant memory, threads of a warp, pitch, registers, kHz
    {8, 49152},
    {9, 65536},
    {10, 32},
    {11, 2147483647},
    {12, 65536},
    {13, 1410000},
    // alignment of textures and of their pitch, copy engines
    {14, 512},
    {51, 32},
    {40, 3},
    // maps the host's memory, kernels at once, addresses of one space, priorities of streams
    {19, 1},
    {31, 1},
    {41, 1},
    {78, 1},
    // managed memory, cooperative launches, registered memory of the host
    {83, 1},
    {95, 1},
    {99, 1},
    // virtual memory, its handles as file descriptors, pools, theirs
    {102, 1},
    {103, 1},
    {115, 1},
    {119, 1},
};

int AttributeOf(const Device& device, int attribute) {
  const std::pair<int, int> own[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_INTEGRATED, device.integrated ? 1 : 0},
      {33, device.pci[1]},
      {34, device.pci[2]},
      {39, device.major == 7 && device.minor == 5 ? 1024 : 2048},  // threads of a multiprocessor
      {50, device.pci[0]},
      {75, device.major},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
       TheDriver()->node.options.moves_pages != 0 ? 1 : 0},
      {76, device.minor},
  };
  for (const auto& [number, value] : own) {
    if (number == attribute) return value;
  }
  for (const auto& [number, value] : kAttributes) {
    if (number == attribute) return value;
  }
  return 0;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  return Of(ordinal, out, [&](const Device&) { *out = ordinal; });
}
FAKE_EXPORT CUresult cuDeviceGetCount(int* out) {
  NEED_DRIVER(driver);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<int>(driver->node.devices.size());
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetName(char* out, int size, CUdevice device) {
  return Of(device, out, [&](const Device& one) {
    if (size > 0) snprintf(out, static_cast<size_t>(size), "%s", one.name.c_str());
  });
}
// As with the driver, the first gives a MIG device's GPU; version 2 gives the MIG device.
FAKE_EXPORT CUresult cuDeviceGetUuid(CUuuid* out, CUdevice device) {
  static std::atomic<uint64_t> asked = 0;
  NEED_DRIVER(driver);
  if (asked.fetch_add(1) < driver->node.options.unnamed) return CUDA_ERROR_UNKNOWN;
  return Of(device, out, [&](const Device& one) { std::memcpy(out, &one.gpu_bytes, sizeof *out); });
}
FAKE_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* out, CUdevice device) {
  return Of(device, out, [&](const Device& one) { std::memcpy(out, &one.bytes, sizeof *out); });
}
FAKE_EXPORT CUresult cuDeviceTotalMem(unsigned* out, CUdevice device) {
  return Of(device, out, [&](const Device& one) {
    *out = one.memory > UINT32_MAX ? UINT32_MAX : static_cast<unsigned>(one.memory);
  });
}
FAKE_EXPORT CUresult cuDeviceTotalMem_v2(size_t* out, CUdevice device) {
  return Of(device, out, [&](const Device& one) { *out = one.memory; });
}
FAKE_EXPORT CUresult cuDeviceGetAttribute(int* out, CUdevice_attribute attribute, CUdevice device) {
  return Of(device, out, [&](const Device& one) { *out = AttributeOf(one, attribute); });
}
FAKE_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return Of(device, major, [&](const Device& one) {
    *major = one.major;
    if (minor != nullptr) *minor = one.minor;
  });
}
FAKE_EXPORT CUresult cuDeviceGetPCIBusId(char* out, int size, CUdevice device) {
  return Of(device, out, [&](const Device& one) {
    if (size <= 0) return;
    snprintf(out, static_cast<size_t>(size), "%04X:%02X:%02X.0", one.pci[0], one.pci[1],
             one.pci[2]);
  });
}
FAKE_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* address) {
  NEED_DRIVER(driver);
  if (out == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3) return CUDA_ERROR_INVALID_VALUE;
  const std::array<int, 3> wanted{static_cast<int>(domain), static_cast<int>(bus),
                                  static_cast<int>(slot)};
  for (size_t i = 0; i < driver->node.devices.size(); ++i) {
    if (driver->node.devices[i].pci != wanted) continue;
    *out = static_cast<int>(i);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}
FAKE_EXPORT CUresult cuDeviceCanAccessPeer(int* out, CUdevice device, CUdevice peer) {
  if (TheDriver() != nullptr && DeviceOf(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return Of(device, out, [&](const Device&) { *out = device == peer ? 0 : 1; });
}
