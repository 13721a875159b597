// SPDX-License-Identifier: Apache-2.0
#include "limiter/driver/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {
namespace {

struct Entry {
  std::string name;
  int since;
  bool passed;
  bool operator==(const Entry&) const = default;
};

const Entry kEntries[] = {
#define HOOKED(name, since) {#name, since, false},
#define CALLED(name, since) {#name, since, false},
#define PASSED(name, since) {#name, since, true},
#include "limiter/driver/functions.def"
};

// The symbol of a function's exported name: cuMemAlloc for cuMemAlloc_v2.
std::string Symbol(std::string name) {
  for (const char* end : {"_ptsz", "_ptds"}) {
    if (name.ends_with(end)) name.resize(name.size() - 5);
  }
  if (name.size() > 3 && name.substr(name.size() - 3, 2) == "_v") name.resize(name.size() - 3);
  return name;
}

// The first word of each line of a list of functions, with the number after it, or 0.
std::map<std::string, int> Listed(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << ": tests run in the root of the tree";
  std::map<std::string, int> listed;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int since = 0;
    if (line[0] == '#' || !(words >> name)) continue;
    words >> since;
    listed[name] = since;
  }
  return listed;
}

TEST(FunctionsTest, EveryFunctionOfTheNewestDriverHasItsLine) {
  const std::map<std::string, int> listed = Listed("test/limiter/cuda_functions.txt");
  std::map<std::string, int> written;
  for (const Entry& entry : kEntries) written[entry.name] = entry.since;
  EXPECT_EQ(written, listed);
  EXPECT_EQ(std::size(kEntries), listed.size()) << "a function stands there twice";
}

TEST(FunctionsTest, EveryFunctionOfTheNewestNvmlHasItsLine) {
  const char* const names[] = {
#define HOOKED(name) #name,
#define CALLED(name) #name,
#define PASSED(name) #name,
#include "limiter/driver/nvml.def"
  };
  const std::map<std::string, int> listed = Listed("test/limiter/nvml_functions.txt");
  std::map<std::string, int> written;
  for (const char* name : names) written[name] = 0;
  EXPECT_EQ(written, listed);
  EXPECT_EQ(std::size(names), listed.size()) << "a function stands there twice";
}

TEST(FunctionsTest, NoneIsNewerThanTheNewestVersionKnown) {
  int newest = 0;
  for (const Entry& entry : kEntries) newest = std::max(newest, entry.since);
  EXPECT_LE(newest, kNewestCuda);
}

TEST(FunctionsTest, AFunctionIsFoundByItsWholeNameAlone) {
  for (const Entry& entry : kEntries) {
    const Function function = FunctionNamed(entry.name.c_str());
    if (entry.passed) {
      EXPECT_EQ(function, Function::kNone) << entry.name;
    } else {
      ASSERT_NE(function, Function::kNone) << entry.name;
      EXPECT_EQ(NameOf(function), entry.name);
    }
  }
  for (const char* name :
       {"", "cu", "cuMemAllo", "cuMemAlloc_v", "cuMemAlloc_v22", "cublasCreate"}) {
    EXPECT_EQ(FunctionNamed(name), Function::kNone) << name;
  }
}

// FunctionOfVersion returns kNone for functions that are passed on.
TEST(FunctionsTest, NoHookedFunctionHasAVariantThatIsPassedOn) {
  std::set<std::string> passed;
  for (const Entry& entry : kEntries) {
    if (entry.passed) passed.insert(Symbol(entry.name));
  }
#define HOOKED(name, since) EXPECT_FALSE(passed.contains(Symbol(#name))) << #name;
#include "limiter/driver/functions.def"
}

TEST(FunctionsTest, AVersionMeansTheNewestVariantThatItKnew) {
  const auto of = [](const char* symbol, int version) {
    return FunctionOfVersion(symbol, version, false);
  };
  EXPECT_EQ(of("cuMemAlloc", 3010), Function::cuMemAlloc);
  EXPECT_EQ(of("cuMemAlloc", 3020), Function::cuMemAlloc_v2);
  EXPECT_EQ(of("cuMemAlloc", 99999), Function::cuMemAlloc_v2);
  EXPECT_EQ(of("cuCtxCreate", 11040), Function::cuCtxCreate_v3);
  EXPECT_EQ(of("cuCtxCreate", 12040), Function::cuCtxCreate_v3);
  EXPECT_EQ(of("cuCtxCreate", 12050), Function::cuCtxCreate_v4);
  EXPECT_EQ(of("cuGraphInstantiate", 11000), Function::cuGraphInstantiate_v2);
  EXPECT_EQ(of("cuGraphInstantiate", 12000), Function::cuGraphInstantiateWithFlags);
  EXPECT_EQ(of("cuMemCreate", 10010), Function::kNone);
  EXPECT_EQ(of("cuMemCreate", 10020), Function::cuMemCreate);
  EXPECT_EQ(of("cuMemcpy", 12000), Function::kNone);
}

TEST(FunctionsTest, AStreamOfTheThreadsOwnMeansTheVariantForItWhereThereIsOne) {
  EXPECT_EQ(FunctionOfVersion("cuMemAllocAsync", 12000, true), Function::cuMemAllocAsync_ptsz);
  EXPECT_EQ(FunctionOfVersion("cuMemAllocAsync", 12000, false), Function::cuMemAllocAsync);
  EXPECT_EQ(FunctionOfVersion("cuMemAlloc", 12000, true), Function::cuMemAlloc_v2);
  EXPECT_EQ(FunctionOfVersion("cuLaunchKernel", 4000, true), Function::cuLaunchKernel);
  EXPECT_EQ(FunctionOfVersion("cuLaunchKernel", 7000, true), Function::cuLaunchKernel_ptsz);
}

TEST(FunctionsTest, HookedFunctionsHaveTheirHookAndOthersNone) {
  EXPECT_EQ(HookOf(Function::cuGetProcAddress), reinterpret_cast<void*>(&::cuGetProcAddress));
  EXPECT_EQ(HookOf(Function::cuGetProcAddress_v2), reinterpret_cast<void*>(&::cuGetProcAddress_v2));
#define HOOKED(name, since) EXPECT_NE(HookOf(Function::name), nullptr) << #name;
#define CALLED(name, since) EXPECT_EQ(HookOf(Function::name), nullptr) << #name;
#include "limiter/driver/functions.def"
}

}  // namespace
}  // namespace tessera::limiter
