// SPDX-License-Identifier: Apache-2.0
// Conflicts and leftovers in the directories of our CDI documents. If another party's document
// names a device of ours, runtimes inject neither. Such a conflict is reported once while it lasts.
// Documents of an earlier process are removed once no resource uses them and no container can hold
// their devices. A record on disk says which files these are, so that no other party's file is
// removed. Owned by the reconciler. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "cdi/cdi_documents.h"
#include "http/metrics.h"
#include "os/files.h"

namespace tessera {

class CdiConflicts {
 public:
  // Both outlive it. `record`: the path of the record of written documents.
  CdiConflicts(const CdiDocuments& documents, http::Metrics& metrics, std::string record)
      : documents_(documents), metrics_(metrics), record_(std::move(record)) {}

  // Reads other parties' documents that have changed, and reports new conflicts.
  void LookForConflicts();
  // `held`: names of devices that a container may hold. Only the writer of the state calls it. The
  // next call tries again where a document cannot be removed, or the record cannot be read.
  Status RemoveStale(const std::function<std::set<std::string>()>& held);

 private:
  struct Foreign {
    os::FileInfo info{};
    std::set<std::string> devices{};  // "vendor/class=name"
  };
  void Read(const std::string& path);
  Status ReadRecord();
  void WriteRecord();

  const CdiDocuments& documents_;
  http::Metrics& metrics_;
  const std::string record_;
  std::optional<std::string> recorded_;       // the record's text; none: not read yet
  std::map<std::string, std::string> stale_;  // path -> the file's identity, see IdentityOf
  std::map<std::string, Foreign> foreign_;    // by path
  std::set<std::string> told_;                // reported conflicts that last
};

}  // namespace tessera
