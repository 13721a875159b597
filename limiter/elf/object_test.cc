// SPDX-License-Identifier: Apache-2.0
#include "limiter/elf/object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::limiter {
namespace {

bool ObjectNamed(const std::string& end, Object* object) {
  return AnyObject([&](const Object& candidate) {
    if (!std::string(candidate.name()).ends_with(end)) return false;
    *object = candidate;
    return true;
  });
}

TEST(ObjectTest, TheProgramComesFirst) {
  std::vector<bool> programs;
  AnyObject([&](const Object& object) {
    programs.push_back(object.IsProgram());
    return false;
  });
  ASSERT_GE(programs.size(), 2);
  EXPECT_TRUE(programs[0]);
  EXPECT_EQ(std::count(programs.begin(), programs.end(), true), 1);
}

TEST(ObjectTest, AFunctionIsFoundWhereTheLoaderFindsIt) {
  Object libc;
  ASSERT_TRUE(ObjectNamed("/libc.so.6", &libc));
  void* handle = dlopen("libc.so.6", RTLD_LAZY);
  for (const char* name : {"getpid", "dl_iterate_phdr", "read", "abort", "fork"}) {
    EXPECT_EQ(libc.Function(name), dlsym(handle, name)) << name;
  }
}

#if defined(__x86_64__)
TEST(ObjectTest, OfSeveralVersionsItIsTheOneThatProgramsAreLinkedWith) {
  Object libc;
  ASSERT_TRUE(ObjectNamed("/libc.so.6", &libc));
  void* handle = dlopen("libc.so.6", RTLD_LAZY);
  void* current = dlvsym(handle, "pthread_cond_wait", "GLIBC_2.3.2");
  ASSERT_NE(dlvsym(handle, "pthread_cond_wait", "GLIBC_2.2.5"), current);
  EXPECT_EQ(libc.Function("pthread_cond_wait"), current);
}
#endif

TEST(ObjectTest, WhatIsNotDefinedThereOrIsDataIsNotFound) {
  Object libc;
  ASSERT_TRUE(ObjectNamed("/libc.so.6", &libc));
  EXPECT_EQ(libc.Function("cuInit"), nullptr);
  EXPECT_EQ(libc.Function(""), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "environ"), nullptr);
  EXPECT_EQ(libc.Function("environ"), nullptr);
  // The loader defines it; libc needs it.
  EXPECT_EQ(libc.Function("__tls_get_addr"), nullptr);
}

// Its addresses are offsets, since the loader has not written to it.
TEST(ObjectTest, TheKernelsOwnObjectIsReadToo) {
  Object vdso;
  const auto* header = reinterpret_cast<const void*>(getauxval(AT_SYSINFO_EHDR));
  if (header == nullptr) GTEST_SKIP() << "this kernel has no vdso";
  ASSERT_TRUE(ObjectOf(header, &vdso));
#if defined(__x86_64__)
  void* function = vdso.Function("__vdso_clock_gettime");
#else
  void* function = vdso.Function("__kernel_clock_gettime");
#endif
  EXPECT_NE(function, nullptr);
  EXPECT_TRUE(vdso.Contains(function));
}

TEST(ObjectTest, AnAddressBelongsToOneObjectOrToNone) {
  Object object, libc;
  ASSERT_TRUE(ObjectNamed("/libc.so.6", &libc));
  ASSERT_TRUE(ObjectOf(libc.Function("getpid"), &object));
  EXPECT_EQ(object, libc);
  static const int here = 0;
  ASSERT_TRUE(ObjectOf(&here, &object));
  EXPECT_TRUE(object.IsProgram());
  int on_the_stack = 0;
  EXPECT_FALSE(ObjectOf(&on_the_stack, &object));
  EXPECT_FALSE(ObjectOf(nullptr, &object));
}

}  // namespace
}  // namespace tessera::limiter
