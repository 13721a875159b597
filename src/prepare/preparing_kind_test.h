// SPDX-License-Identifier: Apache-2.0
// A kind that prepares its devices: cards with one slot each, which a preparation fills.
// Header-only, for tests.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/kind.h"
#include "backend/preparer.h"
#include "share/share.h"

namespace tessera {

inline constexpr char kCard[] = "fixture.com/card";

inline Kind PreparingKind() {
  Kind kind;
  kind.prepares = [](const config::Resource&) { return true; };
  return kind;
}

inline Offer TwoCards(Policy policy = {}, const std::string& resource = kCard,
                      DeviceTraits traits = {}) {
  Inventory inventory;
  for (const char* id : {"0", "1"}) {
    Device device;
    device.key = {resource, id};
    device.traits = traits;
    device.visible_as = id;
    device.nodes = {{.host_path = fmt::format("/dev/card{}", id),
                     .container_path = fmt::format("/dev/card{}", id)}};
    inventory.devices.push_back(device);
  }
  return Divide(resource, {policy}, inventory, resource,
                [](const Device&) { return std::optional<Error>(); });
}

class PreparingBackend : public Backend, public Preparer {
 public:
  explicit PreparingBackend(const char* name = "slot") : name_(name) {}

  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>(); }
  Evidence Check(const Device&) override { return {}; }
  Preparer* preparer() override { return this; }

  const char* name() const override { return name_; }
  Result<Prepared> Prepare(const PrepareRequest& request) override {
    Note("prepare " + request.devices.front().key.id);
    if (during_prepare) during_prepare(request);
    if (yields) return *yields;
    const std::string slot = fmt::format("/dev/slot{}", request.devices.front().key.id);
    return Prepared{.edits = {.env = {"SLOT=" + slot}, .nodes = {{.path = slot}}},
                    .files = {"/run/fixture/" + request.grant}};
  }
  Status Unprepare(const UnprepareRequest& request) override {
    const std::string files =
        request.prepared.files.empty() ? "" : " " + request.prepared.files.front();
    Note("unprepare " + request.devices.front() + files);
    return during_unprepare ? during_unprepare(request) : Status();
  }

  Status CheckHeld(const std::string& grant, const Prepared& prepared) override {
    return during_check ? during_check(grant, prepared) : Status();
  }

  // The calls since the last Calls().
  std::string Calls() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, "");
  }

  // Set before the call that they apply to.
  std::function<void(const PrepareRequest& request)> during_prepare;
  std::function<Status(const UnprepareRequest& request)> during_unprepare;
  std::function<Status(const std::string& grant, const Prepared& prepared)> during_check;
  std::optional<Result<Prepared>> yields;

 private:
  void Note(const std::string& call) {
    const std::lock_guard lock(mutex_);
    calls_ += (calls_.empty() ? "" : ", ") + call;
  }

  const char* const name_;
  std::mutex mutex_;
  std::string calls_;  // under mutex_
};

}  // namespace tessera
