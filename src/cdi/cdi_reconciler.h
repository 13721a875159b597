// SPDX-License-Identifier: Apache-2.0
// Sees to it that the CDI documents of the served resources stay on disk: their directories are
// watched, and what is gone or broken is put back; what cannot be is tried again every second. Of
// two instances (a rolling update) each writes its documents when they change, for the runtime must
// find what it grants; what stands there then is watched over by the writer of the state alone, or
// both would write without end. Documents of others that name the same devices are told of, and
// documents of ours that nobody needs are removed (cdi_conflicts.h). Owned by the agent. One
// thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "cdi/cdi_conflicts.h"
#include "cdi/cdi_documents.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/watch.h"

namespace tessera {

class CdiReconciler {
 public:
  struct Situation {
    std::function<bool()> another_writes;  // another instance is the writer of the state
    std::function<bool()> alone;           // there is no other instance, as far as can be seen
    std::function<bool()> described;       // each resource has given the documents that it needs
    // The names, in any kind, of devices that a container may hold.
    std::function<std::set<std::string>()> held;
  };
  // `documents` outlive it. `poll` is how often a missing directory is looked for.
  CdiReconciler(os::Loop& loop, Duration poll, CdiDocuments& documents, CdiConflicts conflicts,
                Situation situation);

  // To be called now and then, and when documents may have changed: watches the directories that
  // there are documents in now, and looks at every document.
  void Poll();
  // This instance has become the writer: its documents are the ones that count.
  void TakeOver() { RestoreDocuments(CdiFile::Against::kChange); }

 private:
  void RestoreDocuments(CdiFile::Against against);
  void Watch();
  void RemoveStale();

  os::Loop& loop_;
  const Duration poll_;
  CdiDocuments& documents_;
  const Situation situation_;
  CdiConflicts conflicts_;
  std::set<std::string> directories_;
  std::string refusal_;  // why documents cannot be removed, as the log last said
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Alarm soon_;
};

}  // namespace tessera
