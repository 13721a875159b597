// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grant/grant.h"
#include "json/json.h"

namespace tessera {
namespace {

Device DocumentedDevice(const std::string& id) {
  Device device;
  device.key = {"dummy.com/npu", id};
  device.visible_as = id;
  return device;
}

Offer DocumentedOffer(std::vector<Device> devices) {
  const InventoryPtr inventory = Merge(std::make_shared<Inventory>(), "dummy.com/npu",
                                       std::move(devices), [](const DeviceKey&) { return false; })
                                     .inventory;
  return Divide("dummy.com/npu", {}, *inventory, "dummy.com/npu",
                [](const Device&) -> std::optional<Error> { return std::nullopt; });
}

std::string Written(const Offer& offer, const Rendering& rendering) {
  return cdi::Text(cdi::Tidy(CdiDocument(offer, rendering)));
}

Rendering CdiRendering(const std::string& kind = "dummy.com/npu") {
  return {{Strategy::kCdiCri}, "", kind};
}

std::string VersionOf(const Offer& offer, const Rendering& rendering) {
  const json::Value document = json::Parse(Written(offer, rendering)).value();
  return json::GetString(document.as_object(), "cdiVersion").value();
}

TEST(CdiDocument, NamesEveryDeviceWithItsEdits) {
  Device first = DocumentedDevice("2");
  first.nodes = {{"/dev/npu2", "/dev/npu0", "rw"}, {"/dev/npuctl", "/dev/npuctl", ""}};
  Device second = DocumentedDevice("10");
  second.mounts = {{"/opt/npu", "/usr/npu", true}, {"/run/npu", "/run/npu", false}};

  EXPECT_EQ(Written(DocumentedOffer({second, first}), CdiRendering()), R"({
  "cdiVersion": "0.5.0",
  "kind": "dummy.com/npu",
  "devices": [
    {
      "name": "2",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/npu0",
            "hostPath": "/dev/npu2",
            "permissions": "rw"
          },
          {
            "path": "/dev/npuctl"
          }
        ]
      }
    },
    {
      "name": "10",
      "containerEdits": {
        "mounts": [
          {
            "hostPath": "/opt/npu",
            "containerPath": "/usr/npu",
            "options": [
              "rbind",
              "rprivate",
              "ro"
            ]
          },
          {
            "hostPath": "/run/npu",
            "containerPath": "/run/npu",
            "options": [
              "rbind",
              "rprivate",
              "rw"
            ]
          }
        ]
      }
    }
  ]
}
)");
}

TEST(CdiDocument, ADeviceWithNothingElseGetsAVariableOfItsOwn) {
  EXPECT_EQ(Written(DocumentedOffer({DocumentedDevice("npu-a.1")}), CdiRendering()), R"({
  "cdiVersion": "0.3.0",
  "kind": "dummy.com/npu",
  "devices": [
    {
      "name": "npu-a.1",
      "containerEdits": {
        "env": [
          "TESSERA_DEVICE_NPU_A_1=npu-a.1"
        ]
      }
    }
  ]
}
)");
}

TEST(CdiDocument, TheVisibleDevicesVariableIsSetForEachDevice) {
  Rendering rendering = CdiRendering();
  rendering.env = "NPU_VISIBLE";
  Device device = DocumentedDevice("x7");
  device.nodes = {{"/dev/npu7", "/dev/npu7", "rw"}};

  const std::string document = Written(DocumentedOffer({device}), rendering);

  EXPECT_NE(document.find("\"NPU_VISIBLE_X7=x7\""), std::string::npos) << document;
}

TEST(CdiDocument, TheVersionIsAsLowAsTheContentAllows) {
  Device plain = DocumentedDevice("npu7");
  plain.nodes = {{"/dev/npu7", "/dev/npu7", "rw"}};
  Device renamed = DocumentedDevice("npu7");
  renamed.nodes = {{"/dev/npu7", "/dev/npu0", "rw"}};

  EXPECT_EQ(VersionOf(DocumentedOffer({plain}), CdiRendering()), "0.3.0");
  EXPECT_EQ(VersionOf(DocumentedOffer({renamed}), CdiRendering()), "0.5.0");
  EXPECT_EQ(VersionOf(DocumentedOffer({DocumentedDevice("7")}), CdiRendering()), "0.5.0");
  EXPECT_EQ(VersionOf(DocumentedOffer({plain}), CdiRendering("dummy.com/n.pu")), "0.6.0");
}

TEST(CdiDocument, ThereIsNoneWithoutDevices) {
  EXPECT_EQ(Written(DocumentedOffer({}), CdiRendering()), "");
}

TEST(CdiDocument, NamesMatchThoseOfGrants) {
  const Offer offer = DocumentedOffer({DocumentedDevice("/dev/tty USB0"), DocumentedDevice("7")});
  const Grant grant =
      Allocate(offer, CdiRendering(), std::vector<std::string>{"7", "/dev/tty USB0"}).value();
  const json::Value document = json::Parse(Written(offer, CdiRendering())).value();

  std::vector<std::string> names;
  for (const json::Value& device : *json::GetArray(document.as_object(), "devices")) {
    names.push_back("dummy.com/npu=" + json::GetString(device.as_object(), "name").value());
  }
  EXPECT_EQ(names, grant.cdi_devices);
}

TEST(CdiDeviceName, IdsThatCdiTakesStayAsTheyAre) {
  EXPECT_EQ(CdiDeviceName("a.b/cc", "7"), "a.b/cc=7");
  EXPECT_EQ(CdiDeviceName("a.b/cc", "0000:19:00.0"), "a.b/cc=0000:19:00.0");
  EXPECT_EQ(CdiDeviceName("a.b/cc", "mlx5_0"), "a.b/cc=mlx5_0");
}

TEST(CdiDeviceName, OtherIdsGetAHash) {
  EXPECT_EQ(CdiDeviceName("a.b/cc", "/dev/ttyUSB0"), "a.b/cc=devttyUSB0-37800d82f33ecf63");
  EXPECT_NE(CdiDeviceName("a.b/cc", "/dev/a"), CdiDeviceName("a.b/cc", "/de/va"));
  EXPECT_EQ(CdiDeviceName("a.b/cc", "").size(), std::string("a.b/cc=0123456789abcdef").size());
}

TEST(CdiKind, IsCheckedAgainstWhatRuntimesTake) {
  struct Row {
    std::string kind;
    bool valid;
  };
  const Row rows[] = {{"dummy.com/npu", true},
                      {"vendor/class", true},
                      {"ab/cd", true},
                      {"dummy.com/n.pu", true},
                      {"d/npu", false},
                      {"dummy.com/n", false},
                      {"dummy.com", false},
                      {"", false},
                      {"/", false},
                      {"1dummy.com/npu", false},
                      {"dummy.com/1npu", false},
                      {"dummy.com/npu-", false},
                      {"dummy.com/a/b", false},
                      {"dummy.com/n:u", false}};

  for (const Row& row : rows) EXPECT_EQ(CheckCdiKind(row.kind).has_value(), row.valid) << row.kind;
}

TEST(CdiKind, ARefusalSaysWhatWouldDo) {
  EXPECT_EQ(
      CheckCdiKind("dummy.com/n").error(),
      (Error{
          Reason::kInvalid,
          "\"dummy.com/n\" is not a CDI kind, vendor/class. Each part has at least two letters, "
          "digits, \"_\", \"-\" or \".\", begins with a letter and ends with a letter or digit"}));
}

TEST(IsCdiDocumentOf, IsTrueForWholeDocumentsOfTheKindAlone) {
  struct Row {
    std::string text;
    bool whole;
  };
  const std::string whole = R"({"cdiVersion": "0.5.0", "kind": "dummy.com/npu", "devices": []})";
  const Row rows[] = {{whole, true},
                      {"", false},
                      {"{", false},
                      {"[]", false},
                      {whole.substr(0, whole.size() - 1), false},
                      {R"({"cdiVersion": "0.5.0", "kind": "dummy.com/npu"})", false},
                      {R"({"cdiVersion": "0.5.0", "devices": []})", false},
                      {R"({"kind": "dummy.com/npu", "devices": []})", false},
                      {R"({"cdiVersion": "0.5.0", "kind": "a.b/cc", "devices": []})", false}};

  for (const Row& row : rows) {
    EXPECT_EQ(IsCdiDocumentOf("dummy.com/npu", row.text), row.whole) << row.text;
  }
}

TEST(CdiFileName, TellsOwnerAndKind) {
  EXPECT_EQ(CdiFileName("vendor.com/class"), "tessera-vendor.com_class.json");
}

constexpr char kPrefix[] = "cdi.k8s.io/tessera_";

TEST(CdiAnnotationKey, IsOneAResource) {
  EXPECT_EQ(CdiAnnotationKey(kPrefix, "dummy.com/npu"), "cdi.k8s.io/tessera_dummy.com_npu");
  EXPECT_EQ(CdiAnnotationKey("a.b/nvidia-device-plugin_", "nvidia.com/gpu"),
            "a.b/nvidia-device-plugin_nvidia.com_gpu");
  EXPECT_EQ(CdiAnnotationKey("x_", "nvidia.com/gpu"), "x_nvidia.com_gpu");
}

TEST(CdiAnnotationKey, LongNamesAreCutAndHashed) {
  const std::string one = CdiAnnotationKey(kPrefix, "dummy.com/" + std::string(60, 'x') + "1");
  const std::string two = CdiAnnotationKey(kPrefix, "dummy.com/" + std::string(60, 'x') + "2");

  EXPECT_NE(one, two);
  EXPECT_EQ(one.size(), std::string("cdi.k8s.io/").size() + 63);
  EXPECT_TRUE(one.starts_with("cdi.k8s.io/tessera_dummy.com_xxxx")) << one;
}

}  // namespace
}  // namespace tessera
