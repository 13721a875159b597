// SPDX-License-Identifier: Apache-2.0
// GPUs whose policy is MPS. Their own backend finds and checks them. They are good only while the
// resource's MPS control daemon is, as `tessera mps` reports (status.h). Each check reads that
// status; a changed status leads to checks at once. Threads: as in backend.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/nvidia/mps/status.h"
#include "os/loop.h"
#include "os/watch.h"

namespace tessera::nvidia {

class MpsBackend : public Backend {
 public:
  // `directory`: MpsDirectory of the resource.
  MpsBackend(std::string directory, std::shared_ptr<Backend> gpus, os::Loop& loop);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  Result<std::vector<Device>> Scan() override { return gpus_->Scan(); }
  std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices) override {
    return gpus_->DescribeForCdi(devices);
  }
  Evidence Check(const Device& device) override;
  bool TellsByItself() const override { return gpus_->TellsByItself(); }
  bool TimeoutIsInconclusive() const override { return gpus_->TimeoutIsInconclusive(); }
  bool Release() override { return gpus_->Release(); }
  void TakeUp() override { gpus_->TakeUp(); }
  std::vector<std::string> HeldBy() const override { return gpus_->HeldBy(); }
  bool ResetsBeforeStart() const override { return gpus_->ResetsBeforeStart(); }
  Status Reset(const Device& device) override { return gpus_->Reset(device); }

 private:
  Result<MpsStatus> ReadStatus() const;
  void Changed();

  const std::string directory_;
  const std::string boot_;
  const std::shared_ptr<Backend> gpus_;
  os::Loop& loop_;
  // The loop thread's own.
  std::unique_ptr<os::DirectoryWatch> watch_;
  BackendEvents* events_ = nullptr;
  std::pair<MpsState, int> told_{MpsState::kDown, 0};  // the last reported state and daemon
};

}  // namespace tessera::nvidia
