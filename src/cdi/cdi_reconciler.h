// SPDX-License-Identifier: Apache-2.0
// Keeps the CDI documents of the served resources on disk. It watches their directories and
// restores missing or broken documents. It retries every second where it cannot.
//
// During a rolling update two instances run. Each writes its documents when they change, as the
// runtime must find what it grants. Only the writer of the state restores them, or both would write
// without end.
//
// It also reports conflicts with other parties' documents, and removes ours that no container needs
// (cdi_conflicts.h). Owned by the agent. One thread: the loop's.
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
    std::function<bool()> alone;           // no other instance is seen
    std::function<bool()> described;       // every resource has given its documents
    // Names, in any kind, of devices that a container may hold.
    std::function<std::set<std::string>()> held;
  };
  // `documents` outlives it. `poll`: the interval between looks for a missing directory.
  CdiReconciler(os::Loop& loop, Duration poll, CdiDocuments& documents, CdiConflicts conflicts,
                Situation situation);

  // Watches the documents' present directories, and checks every document. Call it at intervals,
  // and when documents may have changed.
  void Poll();
  // Call it when this instance becomes the writer: from then on its documents count.
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
  std::string refusal_;  // why documents cannot be removed, as last logged
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Alarm soon_;
};

}  // namespace tessera
