// SPDX-License-Identifier: Apache-2.0
// Work around a grant: what a kind does to devices before a container is made with them, and undoes
// once its grant has ended. It binds a driver, cuts a partition, programs a card, writes a file. A
// backend has a preparer or has none (Backend::preparer).
//
// The grants of such a resource are bound late: Allocate answers with a name alone, and what was
// prepared is said by the CDI document of that name. So they need CDI.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/device.h"
#include "grant/cdi_document.h"

namespace tessera {

// What is prepared: the devices of one grant. Containers of a pod that have the same shares, as an
// init container and the one after it, have it together.
struct PrepareRequest {
  std::string grant;  // its name, which is never used again
  std::string pod_uid;
  std::vector<std::string> share_ids;  // natural order
  std::vector<Device> devices;         // each once, in natural order of their ids
  Steady deadline{};
  // Whether anybody waits for it: not after the deadline. Any thread may ask.
  std::function<bool()> wanted{};
};

// What came of it. It is kept on the disk, and comes back when it is to be undone.
struct Prepared {
  cdi::Edits edits{};                // for its containers, besides those of the devices
  std::vector<std::string> files{};  // that were made, on the host
  bool operator==(const Prepared&) const = default;
};

struct UnprepareRequest {
  std::string grant;
  std::string pod_uid;
  std::vector<std::string> share_ids;
  std::vector<std::string> devices;  // their ids: they may not be there any more
  // Empty where Prepare failed, or the agent ended meanwhile.
  Prepared prepared{};
};

// Calls come on workers, for several grants at once. No two come at once for grants that have a
// share in common, or a device that is no longer divided as it was: what is prepared for one is
// undone before it is prepared for another.
class Preparer {
 public:
  // Which one it is, in the journal: what one has prepared is undone by one of the same name, which
  // may be of a later agent. A literal that never changes.
  virtual const char* name() const = 0;
  // May take until the deadline. What comes later is undone, and the container is not made.
  virtual Result<Prepared> Prepare(const PrepareRequest& request) = 0;
  // Undoes what was prepared for the grant, all or a part of it, or nothing. It is repeated until
  // it comes off, and also after a restart or a reboot. It may come before Backend::Start and after
  // Backend::Stop.
  virtual Status Unprepare(const UnprepareRequest& request) = 0;

 protected:
  ~Preparer() = default;
};

}  // namespace tessera
