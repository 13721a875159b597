// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class DevicesTest : public CudaTest {
 protected:
  DevicesTest() : CudaTest("8xh100-mig") {}
  // The names of the devices that a process sees.
  static std::vector<std::string> NamesIn(const Library& cuda) {
    auto* name_of = cuda.As<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    int count = 0;
    EXPECT_EQ(CALL(cuDeviceGetCount)(&count), CUDA_SUCCESS);
    std::vector<std::string> names;
    for (int device = 0; device < count; ++device) {
      char name[100];
      EXPECT_EQ(name_of(name, sizeof name, device), CUDA_SUCCESS);
      names.emplace_back(name);
    }
    return names;
  }
  static std::string HexOf(const CUuuid& uuid, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      char digits[3];
      snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
      text += digits;
    }
    return text;
  }
};

TEST_F(DevicesTest, NothingIsAnsweredBeforeCuInit) {
  InProcess([](const Library& cuda) {
    int count = 0;
    CUdeviceptr address = 0;
    CUcontext context = nullptr;
    EXPECT_EQ(CALL(cuDeviceGetCount)(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(CALL(cuCtxGetCurrent)(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
  });
}

TEST_F(DevicesTest, TheVersionIsThatOfTheDescriptionEvenBeforeCuInit) {
  InProcess([](const Library& cuda) {
    int version = 0;
    EXPECT_EQ(CALL(cuDriverGetVersion)(&version), CUDA_SUCCESS);
    EXPECT_EQ(version, 12080);
  });
}

TEST_F(DevicesTest, WholeGpusAreSeenAndThoseInMigModeAreNot) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(NamesIn(cuda), std::vector<std::string>(6, "NVIDIA H100 80GB HBM3"));
  });
}

TEST_F(DevicesTest, AMigDeviceHasItsOwnMemoryAndItsGpusFirstUuid) {
  node_.Set("CUDA_VISIBLE_DEVICES", "MIG-475ca09a-721e-4aa6-aad7-81a9e50bf40c");
  InProcess([](const Library& cuda) {
    EXPECT_EQ(NamesIn(cuda), std::vector<std::string>{"NVIDIA H100 80GB HBM3 MIG 3g.40gb"});
    size_t bytes = 0;
    int processors = 0;
    CUuuid gpu{};
    CUuuid own{};
    EXPECT_EQ(CALL(cuDeviceTotalMem_v2)(&bytes, 0), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 40448 * kMiB);
    EXPECT_EQ(CALL(cuDeviceGetAttribute)(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(processors, 60);
    EXPECT_EQ(CALL(cuDeviceGetUuid)(&gpu, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDeviceGetUuid_v2)(&own, 0), CUDA_SUCCESS);
    EXPECT_EQ(HexOf(gpu, 4), "09ae689a");
    EXPECT_EQ(HexOf(own, 4), "475ca09a");
  });
}

TEST_F(DevicesTest, VisibleDevicesAreNamedByNumberAndByTheBeginningOfAUuid) {
  node_.Set("CUDA_VISIBLE_DEVICES", "1,GPU-b3639a62");
  InProcess([](const Library& cuda) {
    EXPECT_EQ(NamesIn(cuda).size(), 2U);
    CUuuid first{};
    CUuuid second{};
    EXPECT_EQ(CALL(cuDeviceGetUuid_v2)(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDeviceGetUuid_v2)(&second, 1), CUDA_SUCCESS);
    EXPECT_EQ(HexOf(first, 16), "2c23e7d3a0f845a6a508514c28be957f");
    EXPECT_EQ(HexOf(second, 16), "b3639a62370e4366afd4da00b97fc356");
  });
}

TEST_F(DevicesTest, VisibleDevicesEndAtTheFirstThatIsNone) {
  node_.Set("CUDA_VISIBLE_DEVICES", "0,99,1");
  InProcess([](const Library& cuda) { EXPECT_EQ(NamesIn(cuda).size(), 1U); });
}

TEST_F(DevicesTest, WithoutAVisibleDeviceThereIsNone) {
  node_.Set("CUDA_VISIBLE_DEVICES", "-1");
  InProcess([](const Library& cuda) { EXPECT_EQ(CALL(cuInit)(0), CUDA_ERROR_NO_DEVICE); });
}

TEST_F(DevicesTest, WhatIsNoDeviceOrNoPlaceForAnAnswerIsRefused) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(CALL(cuInit)(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    CUdevice device = 0;
    size_t bytes = 0;
    EXPECT_EQ(CALL(cuDeviceGet)(&device, 6), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(CALL(cuDeviceGet)(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(CALL(cuDeviceGet)(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuDeviceTotalMem_v2)(&bytes, 6), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(CALL(cuDeviceTotalMem_v2)(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(DevicesTest, AForkedChildCannotUseTheDriverOfItsParent) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    const pid_t child = fork();
    if (child == 0) {
      int count = 0;
      const bool refused = CALL(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED &&
                           CALL(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_INITIALIZED;
      _exit(refused ? 7 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
