// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "cuda/driver.h"

namespace tessera::fake_cuda {
namespace {

const Device* DeviceOf(CUdevice device) {
  const auto& devices = TheDriver()->node.devices;
  const bool is = device >= 0 && static_cast<size_t>(device) < devices.size();
  return is ? &devices[static_cast<size_t>(device)] : nullptr;
}

// What `give` gives of a device.
template <class Give>
CUresult Of(CUdevice device, const void* out, const Give& give) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Device* found = DeviceOf(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  give(*found);
  return CUDA_SUCCESS;
}

// CUdevice_attribute, as far as programs ask for it.
int AttributeOf(const Device& device, int attribute) {
  switch (attribute) {
    case 1:  // threads of a block, and its dimensions
    case 2:
    case 3:
      return 1024;
    case 4:
      return 64;
    case 5:  // dimensions of a grid
      return 2147483647;
    case 6:
    case 7:
      return 65535;
    case 8:  // shared memory of a block
      return 49152;
    case 9:
      return 65536;
    case 10:  // threads of a warp
      return 32;
    case 11:  // pitch
      return 2147483647;
    case 12:  // registers of a block
      return 65536;
    case 13:  // kHz
      return 1410000;
    case 14:  // alignment of textures
      return 512;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return device.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
      return device.integrated ? 1 : 0;
    case 33:
      return device.pci[1];
    case 34:
      return device.pci[2];
    case 39:  // threads of a multiprocessor
      return device.major == 7 && device.minor == 5 ? 1024 : 2048;
    case 40:  // copy engines
      return 3;
    case 50:
      return device.pci[0];
    case 51:  // alignment of pitch
      return 32;
    case 75:
      return device.major;
    case 76:
      return device.minor;
    // can map host memory, kernels at once, unified addressing, stream priorities, managed memory,
    // concurrent managed access, cooperative launch, registered host memory, virtual memory, file
    // descriptors, pools, and pools' handles of descriptors
    case 19:
    case 31:
    case 41:
    case 78:
    case 83:
    case 89:
    case 95:
    case 99:
    case 102:
    case 103:
    case 115:
    case 119:
      return 1;
    default:
      return 0;
  }
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
// The first tells the GPU of a MIG device, the second the device.
FAKE_EXPORT CUresult cuDeviceGetUuid(CUuuid* out, CUdevice device) {
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
