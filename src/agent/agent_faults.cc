// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "agent/agent_core.h"
#include "agent/faults.h"
#include "os/descriptors.h"

namespace tessera::agent {

std::string TextOf(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fmt::format("{}: {}\n", fault.name, fault.error.Text());
  return text;
}

Faults Agent::FaultsNow() const {
  Faults faults;
  if (!os::HasDescriptorLeft()) {
    faults.push_back({"descriptors",
                      {Reason::kIo, fmt::format("the agent has used all {} that it may open",
                                                os::DescriptorLimit())}});
  }
  // During a rolling update another instance may write the state and hold the socket. That is no
  // fault.
  if (const std::optional<Error> fault = saver_.fault()) faults.push_back({"state", *fault});
  if (control_ == nullptr && control_refusal_ && control_refusal_->reason != Reason::kSocketInUse) {
    faults.push_back({"control-socket", *control_refusal_});
  }
  for (const auto& [path, entry] : cdi_.entries()) {
    if (entry.file.refusal()) faults.push_back({"cdi", entry.file.refusal()->In(path)});
  }
  for (const auto& [name, resource] : resources_.served()) {
    if (auto fault = resource->offering().allocator().start_fault())
      faults.push_back({"grants", fault->In(name)});
  }
  for (const Error& fault : preparations_.faults()) faults.push_back({"prepared", fault});
  return faults;
}

}  // namespace tessera::agent
