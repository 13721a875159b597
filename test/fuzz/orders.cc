// SPDX-License-Identifier: Apache-2.0
// An order on the control socket: the first line is the path, the rest the body. A valid order is
// carried out as far as no file is needed. The state that the agent would write must read back.

#include "agent/control_request.h"
#include "base/text.h"
#include "json/json.h"
#include "node/node.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace tessera::agent {
namespace {

constexpr char kSource[] = "dummy.com/npu";

std::string BodyOf(const CordonOrder& order) {
  return json::Write(json::Object{{"device", order.device}, {"reason", order.reason}});
}

std::string BodyOf(const ResetOrder& order) {
  return json::Write(json::Object{{"device", order.device}});
}

std::string BodyOf(const ReleaseOrder& order) {
  if (!order.time) return R"({"end": true})";
  return json::Write(json::Object{{"for", FormatDuration(*order.time)}});
}

Result<DeviceKey> Follow(Node& node, const CordonOrder& order) {
  const auto ordered =
      order.on ? node.Cordon(order.device, order.reason) : node.Uncordon(order.device);
  if (!ordered) return Fail(ordered.error());
  return ordered->device;
}

void Check(const CordonOrder& order) {
  Require(!order.on || !order.reason.empty(), "a cordon has a reason");
  const FakeClock clock;
  Node node(clock, {});
  Device device;
  device.key = {kSource, "0"};
  node.UpdateDevices(kSource, {device});
  if (!order.on) Require(node.Cordon("0", "loud").has_value(), "a device can be cordoned");
  const auto key = Follow(node, order);
  Require(key ? *key == device.key : !key.error().message.empty(), "it is the device, or said why");
  const auto facts = ParseFacts(WriteFacts({device}, node.cordons(), {}));
  Require(facts && facts->cordons == node.cordons(), "cordons read as they were written");
  const bool out = node.TroubleOf(*node.inventory()->Find(device.key))->reason == Reason::kCordoned;
  Require(out == (order.on == key.has_value()), "the device is out, or back, if that was said");
}

void Check(const ResetOrder&) {}

void Check(const ReleaseOrder&) {}

void CheckText(std::string_view path, std::string_view body) {
  const auto order = ReadOrder(path, body);
  if (!order) {
    Require(!order.error().message.empty(), "a refusal says why");
    return;
  }
  const auto check = [&](const auto& one) {
    const auto again = ReadOrder(path, BodyOf(one));
    Require(again && *again == *order, "an order reads as it was written");
    Check(one);
  };
  std::visit(check, *order);
}

}  // namespace
}  // namespace tessera::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  const size_t end = std::min(text.find('\n'), size);
  tessera::agent::CheckText(text.substr(0, end), text.substr(std::min(end + 1, size)));
  return 0;
}
