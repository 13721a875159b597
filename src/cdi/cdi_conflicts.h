// SPDX-License-Identifier: Apache-2.0
// What else is in the directories of our CDI documents. Where a document of somebody else names a
// device of ours, runtimes inject neither: that is told, once as long as it lasts. Documents
// that an earlier process wrote and no resource gives anything to any more go as soon as nobody can
// hold what they name: which those are is kept in a file, so that nothing of anybody else is
// touched, whatever its name. Owned by the reconciler. One thread: the loop's.
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
  // Both outlive it. `record`: the path of the file that says what was written.
  CdiConflicts(const CdiDocuments& documents, http::Metrics& metrics, std::string record)
      : documents_(documents), metrics_(metrics), record_(std::move(record)) {}

  // Reads the documents of others anew where any has changed.
  void LookForConflicts();
  // `held`: names of devices that a container may hold. For the writer of the state alone. What
  // cannot be removed, or the record that cannot be read, is tried again with the next call.
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
  std::optional<std::string> recorded_;       // its text; none: it was not read yet
  std::map<std::string, std::string> stale_;  // path -> which file it was, see IdentityOf
  std::map<std::string, Foreign> foreign_;    // by path
  std::set<std::string> told_;                // messages about conflicts that last
};

}  // namespace tessera
