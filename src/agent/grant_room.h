// SPDX-License-Identifier: Apache-2.0
// Whether there is room on the devices for one more grant beside what others hold. Pure; plain
// data; one thread at a time.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grant/vgpu.h"
#include "hami/node_register.h"
#include "hami/requests.h"

namespace tessera::agent {

using UsageByDevice = std::map<std::string, hami::CardUsage>;

// What is taken of the devices.
class Taken {
 public:
  // What a container has, in equal parts its shares' of each device. What a pod has of a share
  // twice counts once: kubelet gives the shares of an init container to those of its pod that come
  // after it.
  void AddShares(const std::string& pod, const std::vector<std::string>& ids,
                 std::span<const VgpuPart> parts);
  // That share of the pod does not count.
  void RemoveShare(const std::string& pod, const std::string& id);
  void Add(const UsageByDevice& usage);

  UsageByDevice Sum() const;

 private:
  // Of one share: of MiB and of percent.
  struct Worth {
    std::string device;
    double memory = 0;
    double cores = 0;
  };
  std::map<std::pair<std::string, std::string>, Worth> shares_;  // by pod and id
  UsageByDevice whole_;
};

UsageByDevice UsageOf(std::span<const VgpuPart> parts);

// kNoRoom where one of the cards has not so much more. Nothing is said of a card whose memory is
// not known. `slots`: as many containers at a time as the card's count, too.
Status CheckRoom(const std::string& resource, std::span<const hami::RegisteredDevice> cards,
                 const UsageByDevice& taken, const UsageByDevice& more, bool slots);

}  // namespace tessera::agent
