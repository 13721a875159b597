// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_documents.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/files.h"

namespace tessera {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kMig[] = "nvidia.com/mig-1g.10gb";
constexpr char kKind[] = "k8s.device-plugin.nvidia.com/gpu";

cdi::Document DocumentOf(const std::string& device, const std::string& library = "") {
  cdi::Document document{.kind = kKind,
                         .devices = {{.name = device, .edits = {.env = {"OWN=" + device}}}}};
  if (!library.empty()) document.edits.mounts = {{library, "/lib"}};
  return document;
}

class CdiDocumentsTest : public testing::Test {
 protected:
  ~CdiDocumentsTest() override { (void)os::RemoveTree(dir_); }
  // The document on disk; null: no file.
  std::optional<cdi::Document> OnDisk() {
    const auto text = os::ReadFile(path_);
    return text ? std::optional(cdi::Read(*text).value()) : std::nullopt;
  }
  std::vector<std::string> DevicesOnDisk() {
    std::vector<std::string> names;
    for (const cdi::Device& device : OnDisk().value_or(cdi::Document{}).devices) {
      names.push_back(device.name);
    }
    return names;
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  const std::string path_ = dir_ + "/k8s.device-plugin.nvidia.com-gpu.json";
  http::Metrics metrics_;
  CdiDocuments documents_{metrics_, os::Root()};
};

using Names = std::vector<std::string>;

TEST_F(CdiDocumentsTest, ResourcesOfOneKindHaveOneDocument) {
  documents_.Write(kMig, dir_, {DocumentOf("MIG-1", "/lib.1")}, true);
  documents_.Write(kGpu, dir_, {DocumentOf("GPU-1", "/lib.2")}, true);

  EXPECT_EQ(os::ListDirectory(dir_).value(), Names{"k8s.device-plugin.nvidia.com-gpu.json"});
  EXPECT_EQ(DevicesOnDisk(), (Names{"GPU-1", "MIG-1"}));
  EXPECT_EQ(OnDisk()->edits.mounts[0].host_path, "/lib.2");  // the newest knows the driver best
  documents_.Write(kMig, dir_, {DocumentOf("MIG-2", "/lib.3")}, true);
  EXPECT_EQ(DevicesOnDisk(), (Names{"GPU-1", "MIG-2"}));
  EXPECT_EQ(OnDisk()->edits.mounts[0].host_path, "/lib.3");
  EXPECT_EQ(documents_.Directories(), std::set<std::string>{dir_});
  EXPECT_TRUE(documents_.AllWritten());
}

TEST_F(CdiDocumentsTest, WhatContainersMayBeMadeFromStays) {
  documents_.Write(kGpu, dir_, {DocumentOf("GPU-1")}, false);
  documents_.Write(kMig, dir_, {DocumentOf("MIG-1")}, false);
  documents_.Write(kGpu, dir_, {}, true);
  EXPECT_EQ(DevicesOnDisk(), (Names{"GPU-1", "MIG-1"}));
  documents_.Write(kGpu, dir_, {}, false);
  EXPECT_EQ(DevicesOnDisk(), Names{"MIG-1"});
}

TEST_F(CdiDocumentsTest, WhoSaysTheSameOnceMoreDoesNotKnowTheDriverBetter) {
  documents_.Write(kMig, dir_, {DocumentOf("MIG-1", "/lib.1")}, true);
  documents_.Write(kGpu, dir_, {DocumentOf("GPU-1", "/lib.2")}, true);
  documents_.Write(kMig, dir_, {DocumentOf("MIG-1", "/lib.1")}, true, CdiDocuments::Since::kOther);
  EXPECT_EQ(OnDisk()->edits.mounts[0].host_path, "/lib.2");
  documents_.Write(kMig, dir_, {DocumentOf("MIG-1", "/lib.1")}, true, CdiDocuments::Since::kScan);
  EXPECT_EQ(OnDisk()->edits.mounts[0].host_path, "/lib.1");
}

TEST_F(CdiDocumentsTest, WithTheLastDeviceTheDocumentGoes) {
  documents_.Write(kGpu, dir_, {DocumentOf("GPU-1")}, false);
  documents_.DropResource(kMig);
  EXPECT_EQ(DevicesOnDisk(), Names{"GPU-1"});
  documents_.DropResource(kGpu);
  EXPECT_EQ(OnDisk(), std::nullopt);
  EXPECT_EQ(documents_.entries().size(), 0U);
}

TEST_F(CdiDocumentsTest, AnotherPlaceTakesTheFormersPlace) {
  documents_.Write(kGpu, dir_, {DocumentOf("GPU-1")}, false);
  documents_.Write(kGpu, dir_ + "/other", {DocumentOf("GPU-1")}, false);
  EXPECT_EQ(OnDisk(), std::nullopt);
  EXPECT_EQ(documents_.Directories(), std::set<std::string>{dir_ + "/other"});
}

TEST_F(CdiDocumentsTest, NodesAreDescribedAsTheyAreWhenItIsWritten) {
  const std::string link = dir_ + "/node";
  ASSERT_EQ(symlink("/dev/null", link.c_str()), 0);
  cdi::Document document = DocumentOf("a");
  document.devices[0].edits.nodes = {{.path = "/dev/npu", .host_path = link, .permissions = "rw"},
                                     {.path = "/dev/gone", .permissions = "rw"}};
  documents_.Write(kGpu, dir_, {document}, false);
  const std::vector<cdi::Node> nodes = {{.path = "/dev/npu",
                                         .host_path = "/dev/null",
                                         .type = "c",
                                         .major = 1,
                                         .minor = 3,
                                         .file_mode = 0666,
                                         .permissions = "rw"},
                                        {.path = "/dev/gone", .permissions = "rw"}};
  EXPECT_EQ(OnDisk()->devices[0].edits.nodes, nodes);

  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  documents_.Write(kGpu, dir_, {document}, false, CdiDocuments::Since::kOther);
  EXPECT_EQ(OnDisk()->devices[0].edits.nodes[0].host_path, "/dev/null");  // not looked at
  documents_.Write(kGpu, dir_, {document}, false);
  EXPECT_EQ(OnDisk()->devices[0].edits.nodes[0].host_path, "/dev/zero");
  EXPECT_EQ(OnDisk()->devices[0].edits.nodes[0].minor, 5);
}

}  // namespace
}  // namespace tessera
