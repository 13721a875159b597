// SPDX-License-Identifier: Apache-2.0
#include "backend/file/describe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::file {
namespace {

constexpr char kResource[] = "example.com/thing";

// A tree with links to the machine's /dev/null (1:3) and /dev/zero (1:5), as tests may not make
// device nodes.
class DescribeTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = os::Root(os::MakeTemporaryDirectory("/tmp/describe_test").value());
    ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev/serial/by-id")));
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }

  void Link(const std::string& path, const std::string& target) {
    ASSERT_EQ(symlink(target.c_str(), root_.Path(path).c_str()), 0);
  }
  void Write(const std::string& path, const std::string& content) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_TRUE(os::WriteFileAtomically(root_.Path(path), content));
  }
  // The device of one file that one path matched.
  Device One(const FileConfig::Path& path, const std::string& file) const {
    return Describe(root_, kResource, {{path}}, {{0, file}});
  }

  os::Root root_;
};

TEST_F(DescribeTest, ADeviceNodeGoesInAsItIs) {
  Link("/dev/ttyUSB0", "/dev/null");

  const Device device = One({.pattern = "/dev/ttyUSB*", .permissions = "r"}, "/dev/ttyUSB0");

  Device expected;
  expected.key = {kResource, "ttyUSB0"};
  expected.model = "character device";
  expected.visible_as = "/dev/ttyUSB0";
  expected.nodes = {{"/dev/null", "/dev/ttyUSB0", "r"}};
  EXPECT_EQ(device, expected);
}

TEST_F(DescribeTest, AMountedFileIsNamedByWhatItsLinkLeadsTo) {
  Write("/data/model-1", "");
  Link("/dev/serial/by-id/model", "../../../data/model-1");

  const Device device =
      One({.pattern = "/dev/serial/by-id/*", .mount = true}, "/dev/serial/by-id/model");

  Device expected;
  expected.key = {kResource, "serial:by-id:model"};
  expected.model = "regular file";
  expected.visible_as = "/dev/serial/by-id/model";
  expected.mounts = {{"/data/model-1", "/dev/serial/by-id/model", true}};
  EXPECT_EQ(device, expected);
}

TEST_F(DescribeTest, SeveralFilesMakeOneDevice) {
  Link("/dev/a0", "/dev/null");
  Write("/data/a0.bin", "");
  const FileConfig::Group group{
      {{.pattern = "/data/a*.bin", .mount = true, .read_only = false}, {.pattern = "/dev/a*"}}};

  const Device device = Describe(root_, kResource, group, {{0, "/data/a0.bin"}, {1, "/dev/a0"}});

  Device expected;
  expected.key = {kResource, "data:a0.bin-d663943e0076"};
  expected.model = "regular file";
  expected.visible_as = "/data/a0.bin";
  expected.nodes = {{"/dev/null", "/dev/a0", "rw"}};
  expected.mounts = {{"/data/a0.bin", "/data/a0.bin", false}};
  EXPECT_EQ(device, expected);
}

TEST_F(DescribeTest, SocketsAndPipesCanBeMounted) {
  ASSERT_EQ(mkfifo(root_.Path("/dev/pipe").c_str(), 0600), 0);

  const Device device = One({.pattern = "/dev/pipe", .mount = true}, "/dev/pipe");

  EXPECT_EQ(device.defect, std::nullopt);
  EXPECT_EQ(device.mounts, (std::vector<Mount>{{"/dev/pipe", "/dev/pipe", true}}));
}

TEST_F(DescribeTest, ARegularFileIsNoDevice) {
  Write("/dev/ttyUSB0", "");

  const Device device = One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0");

  EXPECT_EQ(device.defect, (Error{Reason::kInvalid,
                                  "/dev/ttyUSB0 is a regular file, not a device node: set 'mount: "
                                  "true' for /dev/ttyUSB*"}));
  EXPECT_EQ(device.nodes, std::vector<DeviceNode>{});
}

TEST_F(DescribeTest, ADeviceNodeIsNotMounted) {
  Link("/dev/ttyUSB0", "/dev/null");

  const Device device = One({.pattern = "/dev/ttyUSB*", .mount = true}, "/dev/ttyUSB0");

  EXPECT_EQ(device.defect,
            (Error{Reason::kInvalid,
                   "/dev/ttyUSB0 is a character device, which a container cannot use through a "
                   "mount: remove 'mount: true' for /dev/ttyUSB*"}));
}

TEST_F(DescribeTest, ADanglingLinkIsADefect) {
  Link("/dev/ttyUSB0", "nowhere");

  const Device device = One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0");

  EXPECT_EQ(device.key.id, "ttyUSB0");
  EXPECT_EQ(device.visible_as, "/dev/ttyUSB0");
  ASSERT_TRUE(device.defect);
  EXPECT_EQ(device.defect->reason, Reason::kUnreadable);
}

TEST_F(DescribeTest, TheNumaNodeIsReadFromSysfs) {
  Link("/dev/ttyUSB0", "/dev/null");
  Write("/sys/dev/char/1:3/device/numa_node", "1\n");

  EXPECT_EQ(One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0").numa_nodes, std::vector<int>{1});
}

TEST_F(DescribeTest, TheNumaNodeOfAParentCounts) {
  Link("/dev/ttyUSB0", "/dev/null");
  Write("/sys/devices/pci0000:00/0000:00:14.0/numa_node", "1\n");
  Write("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/tty/ttyUSB0/dev", "1:3\n");
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/sys/dev/char")));
  Link("/sys/dev/char/1:3", "../../devices/pci0000:00/0000:00:14.0/usb1/1-1/tty/ttyUSB0");

  EXPECT_EQ(One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0").numa_nodes, std::vector<int>{1});
}

TEST_F(DescribeTest, MinusOneIsNoNumaNode) {
  Link("/dev/ttyUSB0", "/dev/null");
  Write("/sys/dev/char/1:3/device/numa_node", "-1\n");

  EXPECT_EQ(One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0").numa_nodes, std::vector<int>{});
}

TEST_F(DescribeTest, NumaNodesOfSeveralFilesAreListedOnce) {
  Link("/dev/a0", "/dev/null");
  Link("/dev/b0", "/dev/zero");
  Link("/dev/c0", "/dev/null");
  Write("/sys/dev/char/1:3/device/numa_node", "1\n");
  Write("/sys/dev/char/1:5/device/numa_node", "0\n");
  const FileConfig::Group group{
      {{.pattern = "/dev/a*"}, {.pattern = "/dev/b*"}, {.pattern = "/dev/c*"}}};

  const Device device =
      Describe(root_, kResource, group, {{0, "/dev/a0"}, {1, "/dev/b0"}, {2, "/dev/c0"}});

  EXPECT_EQ(device.numa_nodes, (std::vector<int>{0, 1}));
}

TEST_F(DescribeTest, TheModelIsTheKernelsSubsystem) {
  Link("/dev/ttyUSB0", "/dev/null");
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/sys/dev/char/1:3")));
  Link("/sys/dev/char/1:3/subsystem", "../../../class/tty");

  EXPECT_EQ(One({.pattern = "/dev/ttyUSB*"}, "/dev/ttyUSB0").model, "tty");
}

TEST(ContainerPathTest, EveryFormIsAsDocumented) {
  const struct {
    std::string pattern, container_path, file, expected;
  } cases[] = {
      {"/dev/ttyUSB*", "", "/dev/ttyUSB0", "/dev/ttyUSB0"},
      {"/dev/ttyUSB*", "/serial", "/dev/ttyUSB0", "/serial/ttyUSB0"},
      {"/dev/ttyUSB*", "/serial/", "/dev/ttyUSB0", "/serial/ttyUSB0"},
      {"/dev/bus/usb/*/*", "/usb", "/dev/bus/usb/001/004", "/usb/001/004"},
      {"/dev/ttyUSB0", "/dev/modem", "/dev/ttyUSB0", "/dev/modem"},
      {"/dev/ttyUSB0", "/serial/", "/dev/ttyUSB0", "/serial/ttyUSB0"},
  };
  for (const auto& c : cases) {
    const FileConfig::Path path{.pattern = c.pattern, .container_path = c.container_path};

    EXPECT_EQ(ContainerPath(path, c.file), c.expected) << c.pattern << " " << c.container_path;
  }
}

}  // namespace
}  // namespace tessera::file
