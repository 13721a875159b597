// SPDX-License-Identifier: Apache-2.0
#include "backend/file/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/recorder_test.h"
#include "base/captured_log_test.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = os::Root(os::MakeTemporaryDirectory("/tmp/file_test").value());
    ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev")));
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }

  // A backend for plain files, each a device.
  FileBackend Mounted(const std::string& pattern) {
    return FileBackend("example.com/thing", {{{{{.pattern = pattern, .mount = true}}}}}, root_,
                       loop_);
  }
  void Write(const std::string& path) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_TRUE(os::WriteFileAtomically(root_.Path(path), ""));
  }
  void Link(const std::string& path, const std::string& target) {
    ASSERT_EQ(symlink(target.c_str(), root_.Path(path).c_str()), 0);
  }
  // 0:0 is the only device node that any user may make.
  void MakeNode(const std::string& path) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_EQ(mknod(root_.Path(path).c_str(), S_IFCHR | 0600, 0), 0);
  }
  FileBackend OfPaths(std::vector<FileConfig::Path> paths) {
    return FileBackend("example.com/thing", {{{std::move(paths)}}}, root_, loop_);
  }
  void Remove(const std::string& path) { ASSERT_TRUE(os::RemoveFile(root_.Path(path))); }
  static Ids ScannedIds(FileBackend& backend) {
    Ids ids;
    const auto devices = backend.Scan();
    EXPECT_TRUE(devices);
    for (const Device& device : devices.value()) ids.push_back(device.key.id);
    return ids;
  }
  static std::string Check(FileBackend& backend, const Device& device) {
    return Say(backend.Check(device));
  }

  os::Root root_;
  os::Loop loop_;
  Recorder events_{loop_};
};

TEST_F(FileTest, EveryMatchIsADevice) {
  for (const char* path : {"/dev/x10", "/dev/x2", "/dev/y0"}) Write(path);
  FileBackend backend = Mounted("/dev/x*");

  EXPECT_EQ(ScannedIds(backend), (Ids{"x2", "x10"}));
}

TEST_F(FileTest, IdsDoNotDependOnWhatElseIsPlugged) {
  for (const char* path : {"/dev/bus/001/x", "/dev/bus/002/x"}) Write(path);
  FileBackend backend = Mounted("/dev/bus/*/x");
  EXPECT_EQ(ScannedIds(backend), (Ids{"bus:001:x", "bus:002:x"}));

  Remove("/dev/bus/001/x");

  EXPECT_EQ(ScannedIds(backend), (Ids{"bus:002:x"}));
}

TEST_F(FileTest, OneThingUnderTwoNamesIsOneDevice) {
  Write("/dev/x0");
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev/by-id")));
  Link("/dev/by-id/first", "../x0");
  Link("/dev/by-id/second", "../x0");
  const FileConfig config{
      {{{{.pattern = "/dev/by-id/*", .mount = true}}}, {{{.pattern = "/dev/x*", .mount = true}}}}};
  FileBackend backend("example.com/thing", config, root_, loop_);

  EXPECT_EQ(ScannedIds(backend), (Ids{"by-id:first"}));
}

TEST_F(FileTest, OneBadFileCostsNoOther) {
  Write("/dev/x0");
  Link("/dev/x1", "nowhere");
  FileBackend backend = Mounted("/dev/x*");

  const auto devices = backend.Scan();

  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2U);
  EXPECT_EQ(devices->at(0).defect, std::nullopt);
  ASSERT_TRUE(devices->at(1).defect);
  EXPECT_EQ(Check(backend, devices->at(0)), "good");
  EXPECT_EQ(Check(backend, devices->at(1)), "bad unreadable " + devices->at(1).defect->message);
}

TEST_F(FileTest, ADirectoryThatCannotBeReadFailsTheScan) {
  Write("/dev/x");
  FileBackend backend = Mounted("/dev/x/*");

  const auto devices = backend.Scan();

  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error(), (Error{Reason::kScanFailed,
                                    "example.com/thing: cannot look for /dev/x/*: cannot list " +
                                        root_.Path("/dev/x") + ": Not a directory"}));
}

TEST_F(FileTest, NothingIsKnownBeforeTheFirstScan) {
  Write("/dev/x0");
  FileBackend first = Mounted("/dev/x*");
  const Device device = first.Scan()->at(0);
  FileBackend backend = Mounted("/dev/x*");

  EXPECT_EQ(Check(backend, device), "unknown not-checked no scan since the agent started");
}

TEST_F(FileTest, AMissingFileIsFatal) {
  Write("/dev/x0");
  FileBackend backend = Mounted("/dev/x*");
  const Device device = backend.Scan()->at(0);

  Remove("/dev/x0");

  EXPECT_EQ(Check(backend, device), "fatal vanished /dev/x0 is gone");
  EXPECT_EQ(ScannedIds(backend), Ids{});
  EXPECT_EQ(Check(backend, device), "fatal vanished its files are gone");
}

TEST_F(FileTest, AnotherKindOfFileInItsPlaceIsBad) {
  Write("/dev/x0");
  FileBackend backend = Mounted("/dev/x*");
  const Device device = backend.Scan()->at(0);

  Remove("/dev/x0");
  ASSERT_EQ(mkfifo(root_.Path("/dev/x0").c_str(), 0600), 0);

  EXPECT_EQ(Check(backend, device),
            "bad check-failed /dev/x0 was a regular file and is a special file");
}

TEST_F(FileTest, AnotherDeviceInItsPlaceIsBad) {
  Link("/dev/x0", "/dev/null");
  FileBackend backend("example.com/thing", {{{{{.pattern = "/dev/x*"}}}}}, root_, loop_);
  const Device device = backend.Scan()->at(0);
  EXPECT_EQ(Check(backend, device), "good");

  Remove("/dev/x0");
  Link("/dev/x0", "/dev/zero");

  EXPECT_EQ(Check(backend, device), "bad check-failed /dev/x0 was device 1:3 and is device 1:5");
}

TEST_F(FileTest, AnOptionalFileMayGo) {
  Write("/dev/x0");
  Write("/dev/x0.log");
  const FileConfig config{{{{{.pattern = "/dev/x?", .mount = true},
                             {.pattern = "/dev/x0.log", .mount = true, .optional = true}}}}};
  FileBackend backend("example.com/thing", config, root_, loop_);
  const Device device = backend.Scan()->at(0);
  EXPECT_EQ(device.mounts.size(), 2U);

  Remove("/dev/x0.log");

  EXPECT_EQ(Check(backend, device), "good");
}

TEST_F(FileTest, PluggingAsksForAScan) {
  FileBackend backend = Mounted("/dev/x*");
  ASSERT_TRUE(backend.Start(events_));

  Write("/dev/x0");
  events_.AwaitRescan();

  EXPECT_EQ(ScannedIds(backend), Ids{"x0"});
  backend.Stop();
}

TEST_F(FileTest, PluggingBelowAWildcardAsksForAScan) {
  Write("/dev/bus/001/004");
  FileBackend backend = Mounted("/dev/bus/*/*");
  ASSERT_TRUE(backend.Start(events_));

  Write("/dev/bus/001/005");
  events_.AwaitRescan();
  EXPECT_EQ(ScannedIds(backend), (Ids{"bus:001:004", "bus:001:005"}));

  Write("/dev/bus/002/001");
  // A quick watch reports the directory before the file in it.
  for (int i = 0; i < 2 && ScannedIds(backend).size() < 3; ++i) events_.AwaitRescan();
  EXPECT_EQ(ScannedIds(backend), (Ids{"bus:001:004", "bus:001:005", "bus:002:001"}));
  backend.Stop();
}

TEST_F(FileTest, UnpluggingIsReportedAtOnce) {
  Write("/dev/x0");
  Write("/dev/x1");
  FileBackend backend = Mounted("/dev/x*");
  ASSERT_TRUE(backend.Start(events_));
  ASSERT_TRUE(backend.Scan());

  Remove("/dev/x1");
  events_.AwaitRescan();

  EXPECT_EQ(events_.reports, (Ids{"example.com/thing/x1 vanished /dev/x1 is gone"}));
  backend.Stop();
}

TEST_F(FileTest, SeveralChangesAskForOneScan) {
  FileBackend backend = Mounted("/dev/x*");
  ASSERT_TRUE(backend.Start(events_));

  Write("/dev/other");
  Write("/dev/x0");  // the next report is about this one
  events_.AwaitRescan();

  EXPECT_EQ(events_.rescans, 1);
  backend.Stop();
}

TEST_F(FileTest, NothingIsHeardAfterStop) {
  FileBackend backend = Mounted("/dev/x*");
  ASSERT_TRUE(backend.Start(events_));

  backend.Stop();
  Write("/dev/x0");
  loop_.RunOnce();

  EXPECT_EQ(events_.rescans, 0);
}

TEST_F(FileTest, NodesOfOneCardAreOneDevice) {
  Link("/dev/card0", "/dev/null");
  Link("/dev/card1", "/dev/zero");
  Link("/dev/renderD128", "/dev/full");  // 1:7, of card1
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/sys/devices/gpu/drm")));
  for (const char* node : {"1:5", "1:7"}) {
    const std::string directory = std::string("/sys/dev/char/") + node;
    ASSERT_TRUE(os::MakeDirectories(root_.Path(directory)));
    Link(directory + "/device", "../../../devices/gpu");
  }
  FileBackend backend = OfPaths({{.pattern = "/dev/card*"}, {.pattern = "/dev/renderD*"}});
  CapturedLog told;

  const auto devices = backend.Scan();

  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->at(0).key.id, "card1");
  EXPECT_EQ(devices->at(0).nodes,
            (std::vector<DeviceNode>{{"/dev/zero", "/dev/card1", "rw"},
                                     {"/dev/full", "/dev/renderD128", "rw"}}));
  EXPECT_EQ(told.Take(),
            "WARN files belong to no device resource=example.com/thing files=\"/dev/card0: no file "
            "of /dev/renderD* belongs to it\"\n");
}

TEST_F(FileTest, ALinkAndTheNodeItLeadsToAreOneDevice) {
  Write("/dev/video0");
  Write("/dev/video2");
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev/v4l/by-id")));
  Link("/dev/v4l/by-id/cam", "../../video2");
  FileBackend backend = OfPaths(
      {{.pattern = "/dev/video*", .mount = true}, {.pattern = "/dev/v4l/by-id/*", .mount = true}});

  const auto devices = backend.Scan();

  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->at(0).key.id, "video2");
  EXPECT_EQ(devices->at(0).mounts,
            (std::vector<Mount>{{"/dev/video2", "/dev/video2", true},
                                {"/dev/video2", "/dev/v4l/by-id/cam", true}}));
}

TEST_F(FileTest, WhatIsInNoDeviceIsToldOnceUntilItChanges) {
  for (int i = 0; i < 10; ++i) Write("/dev/a" + std::to_string(i));
  FileBackend backend =
      OfPaths({{.pattern = "/dev/a*", .mount = true}, {.pattern = "/dev/b", .mount = true}});
  CapturedLog told;
  ASSERT_TRUE(backend.Scan());
  EXPECT_TRUE(told.Take().ends_with("/dev/a7: /dev/b is missing; and 2 more\"\n"));

  ASSERT_TRUE(backend.Scan());
  EXPECT_EQ(told.Take(), "");
  Write("/dev/b");
  ASSERT_TRUE(backend.Scan());
  EXPECT_EQ(told.Take(), "");

  Remove("/dev/b");
  ASSERT_TRUE(backend.Scan());
  EXPECT_TRUE(told.Take().starts_with("WARN files belong to no device"));
}

TEST_F(FileTest, ADirectoryIsOneDeviceWithTheNodesBelowIt) {
  MakeNode("/dev/snd/controlC0");
  MakeNode("/dev/snd/timer");
  FileBackend backend = OfPaths({{.pattern = "/dev/snd", .permissions = "r"}});

  const Device device = backend.Scan()->at(0);

  EXPECT_EQ(device.key.id, "snd");
  EXPECT_EQ(device.visible_as, "/dev/snd");
  EXPECT_EQ(device.defect, std::nullopt);
  EXPECT_EQ(device.nodes,
            (std::vector<DeviceNode>{{"/dev/snd/controlC0", "/dev/snd/controlC0", "r"},
                                     {"/dev/snd/timer", "/dev/snd/timer", "r"}}));
  EXPECT_EQ(Check(backend, device), "good");
}

TEST_F(FileTest, ADirectoryMayHaveAnotherNameInTheContainer) {
  MakeNode("/dev/bus/usb/001/004");
  FileBackend backend = OfPaths({{.pattern = "/dev/bus/usb", .container_path = "/dev/usb"}});

  EXPECT_EQ(backend.Scan()->at(0).nodes,
            (std::vector<DeviceNode>{{"/dev/bus/usb/001/004", "/dev/usb/001/004", "rw"}}));
}

TEST_F(FileTest, ADirectoryIsWellWhileItHasANode) {
  MakeNode("/dev/snd/controlC0");
  MakeNode("/dev/snd/timer");
  FileBackend backend = OfPaths({{.pattern = "/dev/snd"}});
  const Device device = backend.Scan()->at(0);

  Remove("/dev/snd/timer");
  EXPECT_EQ(Check(backend, device), "good");
  Remove("/dev/snd/controlC0");
  EXPECT_EQ(
      Check(backend, device),
      "bad unreadable /dev/snd has no device node below it: see whether its driver is loaded, "
      "or set 'mount: true' to mount the directory");
  ASSERT_TRUE(os::RemoveTree(root_.Path("/dev/snd")));
  EXPECT_EQ(Check(backend, device), "fatal vanished /dev/snd is gone");
}

TEST_F(FileTest, ADirectoryWithoutANodeIsADefect) {
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev/snd")));
  FileBackend backend = OfPaths({{.pattern = "/dev/snd"}});

  EXPECT_EQ(backend.Scan()->at(0).defect,
            (Error{Reason::kUnreadable,
                   "/dev/snd has no device node below it: see whether its driver is loaded, or set "
                   "'mount: true' to mount the directory"}));
}

TEST_F(FileTest, NodesThatComeLaterInADirectoryAreFound) {
  MakeNode("/dev/bus/usb/001/001");
  FileBackend backend = OfPaths({{.pattern = "/dev/bus/usb"}});
  ASSERT_TRUE(backend.Start(events_));
  EXPECT_EQ(backend.Scan()->at(0).nodes.size(), 1U);

  MakeNode("/dev/bus/usb/001/002");
  events_.AwaitRescan();

  const auto devices = backend.Scan();
  EXPECT_EQ(devices->at(0).key.id, "bus:usb");
  EXPECT_EQ(devices->at(0).nodes.size(), 2U);
  EXPECT_EQ(events_.reports, Ids{});
  backend.Stop();
}

}  // namespace
}  // namespace tessera
