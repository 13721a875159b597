// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/parts.h"

#include "backend/nvidia/cdi/driver_root_test.h"
#include "backend/nvidia/cdi/nodes.h"
#include "backend/nvidia/core/gpu.h"

namespace tessera::nvidia {
namespace {

const std::vector<std::string> kRead = {"ro", "nosuid", "nodev", "rbind", "rprivate"};

cdi::Mount Lib(const std::string& path, const std::string& host) {
  return {.host_path = host, .container_path = path, .options = kRead};
}

cdi::Node Null(const std::string& path) {
  return {.path = path,
          .host_path = "/dev/null",
          .type = "c",
          .major = 1,
          .minor = 3,
          .file_mode = 0666,
          .permissions = "rwm"};
}

class CdiPartsTest : public DriverRootTest {
 protected:
  Device Gpu(const std::string& id, const std::vector<std::string>& nodes) {
    Device device;
    device.key = {"nvidia.com/gpu", id};
    device.visible_as = id;
    for (const std::string& node : nodes) device.nodes.push_back({node, node});
    return device;
  }
  cdi::Parts Describe(const std::vector<Device>& devices) {
    return DescribeForCdi(root_, config_, FindDriverFiles(root_, DriverTree(root_, config_)),
                          devices);
  }

  NvidiaConfig config_{.cdi_vendor = "ab.com"};
};

cdi::Node Plain(const std::string& path) {
  return {.path = path, .permissions = "rwm"};
}

TEST_F(CdiPartsTest, SharedNodesAreForAllAndOwnOnesForTheDevice) {
  const cdi::Parts parts =
      Describe({Gpu("GPU-1", {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"}),
                Gpu("GPU-2", {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"})});
  EXPECT_EQ(parts.common,
            (cdi::Edits{.env = {"NVIDIA_VISIBLE_DEVICES=void"},
                        .nodes = {Plain("/dev/nvidia-uvm"), Plain("/dev/nvidiactl")}}));
  EXPECT_EQ(parts.devices,
            (std::map<std::string, cdi::Edits>{{"GPU-1", {.nodes = {Plain("/dev/nvidia0")}}},
                                               {"GPU-2", {.nodes = {Plain("/dev/nvidia1")}}}}));
}

TEST_F(CdiPartsTest, HooksMakeTheLinksThatMountsDoNot) {
  Install("570.1");
  config_.cdi_hook_path = "/opt/nvidia-cdi-hook";
  const cdi::Parts parts = Describe({Gpu("GPU-1", {"/dev/nvidia0"})});
  const auto hook = [](std::vector<std::string> args) {
    args.insert(args.begin(), "nvidia-cdi-hook");
    return cdi::Hook{.name = "createContainer",
                     .path = "/opt/nvidia-cdi-hook",
                     .args = std::move(args),
                     .env = {"NVIDIA_CTK_DEBUG=false"}};
  };
  const cdi::Edits expected = {
      .env = {"NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64"},
      .mounts = {Lib("/usr/lib64/libcuda.so.570.1", "/usr/lib64/libcuda.so.570.1"),
                 Lib("/usr/lib64/libnvidia-ml.so.570.1", "/usr/lib64/libnvidia-ml.so.570.1")},
      .hooks = {hook({"create-symlinks", "--link", "libcuda.so.1::/usr/lib64/libcuda.so", "--link",
                      "libcuda.so.570.1::/usr/lib64/libcuda.so.1", "--link",
                      "libnvidia-ml.so.570.1::/usr/lib64/libnvidia-ml.so.1"}),
                hook({"enable-cuda-compat", "--host-driver-version=570.1"}),
                hook({"update-ldcache", "--folder", "/usr/lib64"}),
                hook({"disable-device-node-modification"}), hook({"update-application-profile"})}};
  EXPECT_EQ(parts.common, expected);
}

TEST_F(CdiPartsTest, TheHookMayBeNvidiaCtkAndSomeBeLeftOut) {
  Write("/usr/bin/nvidia-cdi-hook/a-directory-in-its-place");
  Write("/usr/bin/nvidia-ctk");
  config_.cdi_leave_out = {CdiPiece::kUpdateApplicationProfile};
  const cdi::Parts parts = Describe({Gpu("GPU-1", {"/dev/nvidia0"})});
  ASSERT_EQ(parts.common.hooks.size(), 1U);
  EXPECT_EQ(parts.common.hooks[0].path, "/usr/bin/nvidia-ctk");
  EXPECT_EQ(parts.common.hooks[0].args,
            (std::vector<std::string>{"nvidia-ctk", "hook", "disable-device-node-modification"}));
  config_.cdi_leave_out = {CdiPiece::kHooks};
  EXPECT_EQ(Describe({Gpu("GPU-1", {"/dev/nvidia0"})}).common.hooks, std::vector<cdi::Hook>{});
}

TEST_F(CdiPartsTest, WithoutAHookLibrariesStandUnderAllNamesWhereLoadersLook) {
  Write("/usr/lib64/libcuda.so.570.1");
  Link("/usr/lib64/libcuda.so.1", "libcuda.so.570.1");
  const std::string host = "/usr/lib64/libcuda.so.570.1";
#ifdef __aarch64__
  const std::string debian = "/usr/lib/aarch64-linux-gnu/";
#else
  const std::string debian = "/usr/lib/x86_64-linux-gnu/";
#endif
  EXPECT_EQ(Describe({Gpu("GPU-1", {"/dev/nvidia0"})}).common.mounts,
            (std::vector<cdi::Mount>{
                Lib("/usr/lib64/libcuda.so", host), Lib("/usr/lib64/libcuda.so.1", host),
                Lib("/usr/lib64/libcuda.so.570.1", host), Lib(debian + "libcuda.so", host),
                Lib(debian + "libcuda.so.1", host), Lib(debian + "libcuda.so.570.1", host)}));
}

TEST_F(CdiPartsTest, PathsAreThoseOfTheHost) {
  Write("/driver-root/usr/bin/nvidia-smi");
  Write("/driver-root/run/nvidia-persistenced/socket");
  Write("/driver-root/dev/nvidia0");
  config_.driver_root = "/driver-root";
  config_.host_driver_root = "/run/nvidia/driver";
  config_.dev_root = "/run/nvidia/driver";
  const cdi::Parts parts = Describe({Gpu("GPU-1", {"/dev/nvidia0"})});
  EXPECT_EQ(parts.common.mounts,
            (std::vector<cdi::Mount>{
                {.host_path = "/run/nvidia/driver/run/nvidia-persistenced/socket",
                 .container_path = "/run/nvidia-persistenced/socket",
                 .options = {"nosuid", "nodev", "rbind", "rprivate", "noexec"}},
                Lib("/usr/bin/nvidia-smi", "/run/nvidia/driver/usr/bin/nvidia-smi")}));
  EXPECT_EQ(parts.devices.at("GPU-1").nodes,
            (std::vector<cdi::Node>{{.path = "/dev/nvidia0",
                                     .host_path = "/run/nvidia/driver/dev/nvidia0",
                                     .permissions = "rwm"}}));
}

TEST_F(CdiPartsTest, AnUpgradeIsSeenAnew) {
  Install("550.1");
  const cdi::Parts before = Describe({});
  ASSERT_TRUE(os::RemoveTree(root_.Path("/usr")));
  Install("570.1");
  const cdi::Parts after = Describe({});
  EXPECT_EQ(before.common.mounts[0].host_path, "/usr/lib64/libcuda.so.550.1");
  EXPECT_EQ(after.common.mounts[0].host_path, "/usr/lib64/libcuda.so.570.1");
}

TEST_F(CdiPartsTest, WhatDrawsBelongsToTheGpuAndNotToItsParts) {
  Write("/sys/bus/pci/devices/0000:07:00.0/drm/card1/dev");
  Write("/sys/bus/pci/devices/0000:07:00.0/drm/renderD128/dev");
  Write("/dev/dri/card1");
  Write("/dev/dri/renderD128");
  Link("/dev/dri/by-path/pci-0000:07:00.0-card", "../card1");
  Device gpu = Gpu("GPU-1", {"/dev/nvidia0"});
  Device mig = Gpu("MIG-1", {"/dev/nvidia0"});
  gpu.address = mig.address = "0000:07:00.0";
  mig.parent = "GPU-1";
  const cdi::Parts parts = Describe({gpu, mig});
  EXPECT_EQ(parts.devices.at("GPU-1").nodes,
            (std::vector<cdi::Node>{Plain("/dev/nvidia0"), Plain("/dev/dri/card1"),
                                    Plain("/dev/dri/renderD128"),
                                    Plain("/dev/dri/by-path/pci-0000:07:00.0-card")}));
  EXPECT_EQ(parts.devices.at("MIG-1").nodes, std::vector<cdi::Node>{Plain("/dev/nvidia0")});
  config_.cdi_hook_path = "/h";
  EXPECT_EQ(Describe({gpu}).devices.at("GPU-1").hooks[0].args,
            (std::vector<std::string>{"h", "create-symlinks", "--link",
                                      "../card1::/dev/dri/by-path/pci-0000:07:00.0-card"}));
}

TEST_F(CdiPartsTest, WhatComesBesideGpusHasDocumentsOfItsOwnWhereTheNodeHasIt) {
  config_.features = {Feature::kGdrcopy, Feature::kGds, Feature::kMofed};
  Write("/dev/gdrdrv");
  Write("/dev/infiniband/uverbs0");
  Write("/dev/infiniband/rdma_cm");
  Write("/dev/infiniband/umad0");
  Write("/etc/cufile.json");
  EXPECT_EQ(Describe({}).others,
            (std::vector<cdi::Document>{
                {.kind = "ab.com/gdrcopy",
                 .devices = {{.name = "all", .edits = {.nodes = {Plain("/dev/gdrdrv")}}}}},
                {.kind = "ab.com/mofed",
                 .devices = {{.name = "all",
                              .edits = {.nodes = {Plain("/dev/infiniband/rdma_cm"),
                                                  Plain("/dev/infiniband/uverbs0")}}}}}}));
  Write("/dev/nvidia-fs0");
  const cdi::Edits gds = {.nodes = {Plain("/dev/nvidia-fs0")},
                          .mounts = {Lib("/etc/cufile.json", "/etc/cufile.json")}};
  EXPECT_EQ(Describe({}).others[1].devices[0].edits, gds);
}

TEST_F(CdiPartsTest, WhatTheNodeLacksBesideGpusIsNamedWithWhereItWasLookedFor) {
  config_.features = {Feature::kGdrcopy, Feature::kGds, Feature::kMofed};
  config_.dev_root = "/run/driver";
  Write("/run/driver/dev/gdrdrv");
  EXPECT_EQ(MissingFeatures(config_, Describe({})),
            (std::vector<MissingFeature>{
                {"gds", "/run/driver/dev/nvidia-fs*",
                 "install GPUDirect Storage and load its kernel module, nvidia-fs"},
                {"mofed", "/run/driver/dev/infiniband/uverbs*",
                 "install the driver of the network adapters and load ib_uverbs and rdma_ucm"}}));
}

TEST_F(CdiPartsTest, ATegraGetsWhatItsListsName) {
  Write("/etc/nvidia-container-runtime/host-files-for-container.d/drivers.csv",
        "dev, /dev/nvhost-ctrl\ndev, /dev/missing\nlib, /usr/lib/tegra/libcuda*\n"
        "sym, /usr/lib/libcuda.so\nnonsense\ndir, relative\n");
  Write("/dev/nvhost-ctrl");
  Write("/usr/lib/tegra/libcuda.so.1.1");
  Link("/usr/lib/libcuda.so", "/usr/lib/tegra/libcuda.so.1.1");
  config_.cdi_hook_path = "/h";
  const std::string library = "/usr/lib/tegra/libcuda.so.1.1";
  const cdi::Edits tegra = Describe({Gpu("tegra", {})}).devices.at("tegra");
  EXPECT_EQ(tegra.nodes, std::vector<cdi::Node>{Plain("/dev/nvhost-ctrl")});
  EXPECT_EQ(tegra.mounts, std::vector<cdi::Mount>{Lib(library, library)});
  ASSERT_EQ(tegra.hooks.size(), 4U);
  EXPECT_EQ(tegra.hooks[0].args, (std::vector<std::string>{"h", "create-symlinks", "--link",
                                                           library + "::/usr/lib/libcuda.so"}));
  EXPECT_EQ(tegra.hooks[1].args,
            (std::vector<std::string>{"h", "update-ldcache", "--folder", "/usr/lib/tegra"}));
}

TEST_F(CdiPartsTest, WithoutAHookATegrasLibrariesStandUnderAllNamesWhereLoadersLook) {
  Write("/etc/nvidia-container-runtime/host-files-for-container.d/drivers.csv",
        "lib, /usr/lib/tegra/libcuda.so.1.1\nlib, /usr/lib/gst/gstnv.so\n"
        "sym, /usr/lib64/libcuda.so\n");
  Write("/usr/lib/tegra/libcuda.so.1.1");
  Write("/usr/lib/gst/gstnv.so");
  Link("/usr/lib/tegra/libcuda.so.1", "libcuda.so.1.1");
  Link("/usr/lib64/libcuda.so", "/usr/lib/tegra/libcuda.so.1.1");
  const std::string library = "/usr/lib/tegra/libcuda.so.1.1";
  const std::string gst = "/usr/lib/gst/gstnv.so";
#ifdef __aarch64__
  const std::string debian = "/usr/lib/aarch64-linux-gnu/";
#else
  const std::string debian = "/usr/lib/x86_64-linux-gnu/";
#endif
  const cdi::Edits tegra = Describe({Gpu("tegra", {})}).devices.at("tegra");
  EXPECT_EQ(tegra.hooks, std::vector<cdi::Hook>());
  EXPECT_EQ(tegra.mounts,
            (std::vector<cdi::Mount>{
                Lib("/usr/lib64/libcuda.so", library), Lib("/usr/lib64/libcuda.so.1", library),
                Lib("/usr/lib64/libcuda.so.1.1", library), Lib(gst, gst),
                Lib("/usr/lib/tegra/libcuda.so.1", library), Lib(library, library),
                Lib(debian + "libcuda.so", library), Lib(debian + "libcuda.so.1", library),
                Lib(debian + "libcuda.so.1.1", library)}));
}

TEST_F(CdiPartsTest, WslGetsTheStoreOfDrivers) {
  Write("/usr/lib/wsl/drivers/nv_dispi.inf_amd64/libcuda.so.1.1");
  Write("/usr/lib/wsl/drivers/nv_dispi.inf_amd64/readme.txt");
  Write("/usr/lib/wsl/lib/libdxcore.so");
  config_.cdi_hook_path = "/h";
  const std::string store = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64";
  const cdi::Edits all = Describe({Gpu("all", {"/dev/dxg"})}).devices.at("all");
  EXPECT_EQ(all.nodes, std::vector<cdi::Node>{Plain("/dev/dxg")});
  EXPECT_EQ(all.mounts, (std::vector<cdi::Mount>{
                            Lib("/usr/lib/wsl/lib/libdxcore.so", "/usr/lib/wsl/lib/libdxcore.so"),
                            Lib(store + "/libcuda.so.1.1", store + "/libcuda.so.1.1")}));
  EXPECT_EQ(all.hooks[0].args[3], store + "/nvidia-smi::/usr/bin/nvidia-smi");
}

// Real device nodes are those of the machine, seen from its own root.
TEST(CdiNodes, OfTheKernelHaveItsNumbersAndTheWayBehindLinks) {
  const std::string link = testing::TempDir() + "cdi_null";
  unlink(link.c_str());
  ASSERT_EQ(symlink("/dev/null", link.c_str()), 0);
  cdi::Edits edits;
  const Nodes nodes(os::Root(), {});
  nodes.Add(link, edits);
  EXPECT_EQ(edits, (cdi::Edits{.nodes = {Null(link)}}));
  unlink(link.c_str());
}

}  // namespace
}  // namespace tessera::nvidia
