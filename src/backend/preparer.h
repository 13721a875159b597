// SPDX-License-Identifier: Apache-2.0
// A preparer: the part of a backend that prepares devices around each grant, before the container
// is made, and undoes that once the grant has ended. It binds a driver, cuts a partition, programs
// a card, writes a file. A backend has one or none (Backend::preparer), and owns it.
//
// Grants of such a resource are bound late: Allocate answers with a name only, and the CDI document
// of that name says what was prepared. So they need CDI.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/device.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"

namespace tessera {

// What is to be prepared: the devices of one grant. Containers of a pod with the same shares, such
// as an init container and the next one, share a grant's preparation.
struct PrepareRequest {
  std::string grant;  // its name; no other grant ever has it
  std::string pod_uid;
  std::vector<std::string> share_ids;  // natural order
  std::vector<Device> devices;         // each once, in natural order of their ids
  // How much of each device, in their order, if FractionRules::prepared. Else empty.
  std::vector<Fraction> parts{};
  Steady deadline{};
  // Whether kubelet still waits; false after the deadline. Any thread.
  std::function<bool()> wanted{};
};

// What was prepared. The journal keeps it, and Unprepare gets it back.
struct Prepared {
  cdi::Edits edits{};                // for its containers, besides the devices' own
  std::vector<std::string> files{};  // made on the host
  bool operator==(const Prepared&) const = default;
};

struct UnprepareRequest {
  std::string grant;
  std::string pod_uid;
  std::vector<std::string> share_ids;
  std::vector<std::string> devices;  // their ids; a device may be gone
  // Empty if Prepare failed, or if the agent ended during it.
  Prepared prepared{};
};

// Calls come on workers, for several grants at once. Two grants with a share in common never run at
// once, unless they have parts of different devices: one is undone before the other is prepared.
// The same holds for two grants of a device whose division has changed.
class Preparer {
 public:
  // The preparer's name in the journal. A later agent undoes a preparation by the preparer of the
  // same name. A literal that never changes.
  virtual const char* name() const = 0;
  // May take until the deadline. A later result is undone, and the container is not made.
  virtual Result<Prepared> Prepare(const PrepareRequest& request) = 0;
  // Whether a prepared grant still has what was prepared: a container of it is about to be made
  // again. An error refuses the container, and does not undo the preparation.
  virtual Status CheckHeld(const std::string& /*grant*/, const Prepared& /*prepared*/) {
    return {};
  }
  // Undoes a preparation, a part of one, or none. Repeated until it succeeds, also after a restart
  // or a reboot. It may come before Backend::Start and after Backend::Stop.
  virtual Status Unprepare(const UnprepareRequest& request) = 0;

 protected:
  ~Preparer() = default;
};

}  // namespace tessera
