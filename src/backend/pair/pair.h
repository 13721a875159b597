// SPDX-License-Identifier: Apache-2.0
// The kind of pairs: `pair: {gpu: RESOURCE, nic: RESOURCE}`. A pair is a GPU with the network card
// that is nearest to it on the PCI bus, as one device.
//
// - The parts are devices of two other resources, which judge their health. A pair is out while a
//   part is, and a container that has a pair has both parts (DeviceTraits::parts).
// - GPUs that go together (DeviceTraits::bundle) are in pairs that go together.
// - A card of a resource that is divided into replicas is in as many pairs as it has replicas.
// - Pairs are made anew after each scan of a part's resource. A pair keeps its parts while they are
//   there and none nearer is free.
//
// Owned and threaded as backend.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/found_devices.h"
#include "backend/pair/pair_config.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace tessera {

class PairBackend : public Backend {
 public:
  static constexpr Duration kPatience{2'000};
  // `found`: the devices of all resources. A scan waits for `patience` for the first ones.
  PairBackend(std::string resource, PairConfig config, std::shared_ptr<FoundDevices> found,
              Duration patience = kPatience);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // kUnavailable: a part's resource has not been scanned yet.
  Result<std::vector<Device>> Scan() override;
  // All that the parts' own documents would say, so that a pair needs no other document.
  std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& pairs) override;
  // Whether the last scan made the pair. Its parts have checks of their own.
  Evidence Check(const Device& device) override;

 private:
  Result<std::vector<Device>> ScanNow();
  bool AwaitChange(uint64_t seen, Steady until);
  void PartsChanged();
  std::vector<Device> Former() const;
  bool IsMade(const DeviceKey& key) const;
  std::vector<Device> PairsOf(const FoundDevices::Found& gpus, const FoundDevices::Found& nics,
                              const std::vector<Device>& former) const;

  const std::string resource_;
  const PairConfig config_;
  const std::shared_ptr<FoundDevices> found_;
  FoundDevices::Handle watch_;  // the loop's thread only
  const Duration patience_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  uint64_t changes_ TESSERA_GUARDED_BY(mutex_) = 0;  // of parts
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  std::optional<std::vector<Device>> last_ TESSERA_GUARDED_BY(mutex_);  // of the last good scan
};

}  // namespace tessera
