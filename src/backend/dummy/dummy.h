// SPDX-License-Identifier: Apache-2.0
// The dummy kind: NPUs that exist only in the configuration, for learning, trials and tests. Their
// ids are "0" to "count-1". Their faults (faults.h) are in a file that another program writes, and
// outlast the agent.
//
// Owned and threaded as backend.h says. Destroyed after Stop, once no call runs, on any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backend/backend.h"
#include "backend/dummy/dummy_config.h"
#include "backend/dummy/faults.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "os/loop.h"
#include "os/watch.h"

namespace tessera {

class DummyBackend : public Backend {
 public:
  // Reads the faults. `loop` and `clock` outlive the backend.
  DummyBackend(std::string resource, DummyConfig config, const std::string& state_dir,
               os::Loop& loop, const Clock& clock);

  // Watches the fault file. Devices that are broken by now are reported at once.
  Status Start(BackendEvents& events) override;
  // Ends checks that hang because their device is slow.
  void Stop() override;
  // kScanFailed while the bus is lost: the last good list stays, and every check fails.
  Result<std::vector<Device>> Scan() override;
  Evidence Check(const Device& device) override;
  bool TellsByItself() const override { return watch_ != nullptr; }
  bool ResetsBeforeStart() const override { return config_.reset_before_start; }
  // kResetFailed for a device that is broken, gone or told to refuse. Each reset is logged and
  // counted.
  Status Reset(const Device& device) override;
  // Reads the fault file, as after each change of it. An invalid file changes no fault. Any thread.
  void Reload();

  // How often the device was reset since this backend was made. Any thread.
  int resets(const std::string& id) const;
  const std::string& fault_file() const { return fault_file_; }

 private:
  Device Describe(int number) const;
  DeviceKey Key(std::string_view id) const { return {resource_, std::string(id)}; }
  bool Has(std::string_view id) const;

  void Replace(dummy::Faults next);
  void Announce(const dummy::Faults& before, const dummy::Faults& after) TESSERA_REQUIRES(mutex_);
  void FollowFlapping();
  // Waits while the device is slow; false when Stop came first.
  bool AwaitAnswer(MutexLock& lock, const std::string& id) TESSERA_REQUIRES(mutex_);
  // Why the device does not work, if so.
  std::optional<Evidence> Trouble(const std::string& id) const TESSERA_REQUIRES(mutex_);

  const std::string resource_;
  const DummyConfig config_;
  const std::string fault_file_;
  os::Loop& loop_;
  const Clock& clock_;

  // Lock order: file_mutex_ before mutex_.
  Mutex file_mutex_;  // held while the file is read
  std::optional<Error> file_error_
      TESSERA_GUARDED_BY(file_mutex_);  // what is wrong with the file, once logged

  mutable Mutex mutex_;     // events are reported under it, so that none comes after Stop
  ConditionVariable wake_;  // faults_ or stopped_ changed
  dummy::Faults faults_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, int> resets_ TESSERA_GUARDED_BY(mutex_);
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  bool stopped_ TESSERA_GUARDED_BY(mutex_) = false;

  // The loop's thread only.
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Loop::Handle flap_timer_;
  std::set<std::string> flapped_;  // devices reported broken in their present phase
};

}  // namespace tessera
