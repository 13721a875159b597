// SPDX-License-Identifier: Apache-2.0
#include "os/vendor_library.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace tessera::os {
namespace {

constexpr std::array<std::string_view, 2> kLibraryDirectories = {"/usr/lib64", "/usr/lib"};
constexpr std::array<std::string_view, 2> kNames = {"libvendor.so.2", "libvendor.so.1"};

// A library that every machine has.
std::string AnyLibrary() {
  void* handle = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  EXPECT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
  const std::string path = map->l_name;
  dlclose(handle);
  return path;
}

class VendorLibraryTest : public testing::Test {
 protected:
  VendorLibraryTest() { EXPECT_TRUE(MakeDirectories(root_.Path("/usr/lib64"))); }
  ~VendorLibraryTest() override {
    if (loaded_.handle != nullptr) dlclose(loaded_.handle);
    EXPECT_TRUE(RemoveTree(root_.prefix()));
  }
  void Install(const std::string& name,
               const std::string& content = ReadFile(AnyLibrary()).value()) {
    ASSERT_TRUE(WriteFileAtomically(root_.Path("/usr/lib64/" + name), content, 0755));
  }
  void SetMode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(root_.Path(path).c_str(), mode), 0);
  }
  const LoadedLibrary& Load(Trust trust = Trust::kAnyFile) {
    loaded_ = LoadFirst(LibraryPaths(root_, "/", kLibraryDirectories, kNames), kLibraryDirectories,
                        trust);
    return loaded_;
  }

  const Root root_{MakeTemporaryDirectory(testing::TempDir() + "vendor").value()};
  LoadedLibrary loaded_;
};

TEST_F(VendorLibraryTest, OfSeveralVersionsTheFirstThatIsThereIsLoaded) {
  Install("libvendor.so.1");
  EXPECT_EQ(Load().path, root_.Path("/usr/lib64/libvendor.so.1"));
  EXPECT_NE(loaded_.handle, nullptr);
  dlclose(loaded_.handle);

  Install("libvendor.so.2");
  EXPECT_EQ(Load().path, root_.Path("/usr/lib64/libvendor.so.2"));
}

TEST_F(VendorLibraryTest, AFunctionThatItDoesNotHaveStaysAsItIs) {
  Install("libvendor.so.1");
  double (*cosine)(double) = nullptr;
  int (*other)() = [] { return 7; };

  FindFunction(Load().handle, "cos", cosine);
  FindFunction(loaded_.handle, "vendorDoesNotHaveThis", other);

  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(other(), 7);
}

TEST_F(VendorLibraryTest, OneThatIsNotThereOrIsNoneSaysSo) {
  EXPECT_EQ(Load().failure, "it is not there");

  Install("libvendor.so.1", "no library");
  const std::string path = root_.Path("/usr/lib64/libvendor.so.1");
  EXPECT_EQ(Load().handle, nullptr);
  EXPECT_EQ(loaded_.path, path);
  EXPECT_EQ(loaded_.failure, path + ": file too short");
}

TEST_F(VendorLibraryTest, WhereItIsToBeRootsOneThatOthersMayChangeIsNotLoaded) {
  Install("libvendor.so.1");
  EXPECT_NE(Load(Trust::kRootsFile).handle, nullptr) << loaded_.failure;
  dlclose(loaded_.handle);
  const std::string path = root_.Path("/usr/lib64/libvendor.so.1");

  SetMode("/usr/lib64/libvendor.so.1", 0757);
  EXPECT_EQ(Load(Trust::kRootsFile).handle, nullptr);
  EXPECT_EQ(
      loaded_.failure,
      fmt::format("{} is not loaded: users other than root can change {} (owner {}, mode 0757)",
                  path, path, geteuid()));
}

TEST_F(VendorLibraryTest, NorIsOneThatOthersMayReplace) {
  Install("libvendor.so.1");
  SetMode("/usr/lib64", 0777);

  EXPECT_EQ(
      Load(Trust::kRootsFile).failure,
      fmt::format("{} is not loaded: users other than root can change {} (owner {}, mode 0777)",
                  root_.Path("/usr/lib64/libvendor.so.1"), root_.Path("/usr/lib64"), geteuid()));
  EXPECT_NE(Load().handle, nullptr);
}

TEST(VendorLibrary, WhereItIsToBeRootsNoneIsTheLoadersToFind) {
  EXPECT_EQ(LoadFirst({"libm.so.6"}, kLibraryDirectories, Trust::kRootsFile).failure,
            "it is not there");
  EXPECT_TRUE(CanLoad({"libm.so.6"}, kLibraryDirectories));
}

TEST(VendorLibrary, EachDirectoryIsLookedThroughForAllNames) {
  EXPECT_EQ(
      LibraryPaths(Root(), "/driver/", kLibraryDirectories, kNames),
      (std::vector<std::string>{
          "/driver/usr/lib64/libvendor.so.2", "/driver/usr/lib64/libvendor.so.1",
          "/driver/usr/lib/libvendor.so.2", "/driver/usr/lib/libvendor.so.1", "libvendor.so.2",
          "libvendor.so.1", "/usr/lib64/libvendor.so.2", "/usr/lib64/libvendor.so.1",
          "/usr/lib/libvendor.so.2", "/usr/lib/libvendor.so.1"}));
}

}  // namespace
}  // namespace tessera::os
