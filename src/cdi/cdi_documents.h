// SPDX-License-Identifier: Apache-2.0
// The CDI documents of all resources. Runtimes refuse a device that two documents name, so each
// kind of CDI devices has one document for all resources. Device nodes without a description are
// looked up at the write, so that the runtime need not follow links. Outlives the resources. One
// thread: the loop's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cdi/cdi_file.h"
#include "grant/cdi_document.h"
#include "http/metrics.h"
#include "os/files.h"

namespace tessera {

class CdiDocuments {
 public:
  // `metrics` outlives it. `root`: where device nodes are looked up. `tell`, if any, gets errors
  // besides the log.
  CdiDocuments(http::Metrics& metrics, os::Root root, CdiErrorHandler tell = nullptr)
      : metrics_(metrics), root_(std::move(root)), tell_(std::move(tell)) {}

  // Writes what the resource's containers need, below `directory`, merged with other resources'
  // parts of the same kinds. The resource's part in any other document goes, unless `in_use`:
  // containers may be made from it again. With Since::kOther an equal part is not written again; a
  // scan may have seen changed nodes.
  enum class Since : bool { kOther, kScan };
  void Write(const std::string& resource, const std::string& directory,
             std::vector<cdi::Document> documents, bool in_use, Since since = Since::kScan);
  // No container holds a device of the resource, and none will.
  void DropResource(const std::string& resource) { Write(resource, "", {}, false); }

  // Restores documents that differ from what was written.
  void Restore(CdiFile::Against against);
  bool AllWritten() const;
  // The directories that have documents.
  std::set<std::string> Directories() const;

  struct Entry {
    CdiFile file;
    std::string kind;
    // A resource's part, with the number of its write.
    struct Part {
      cdi::Document document;
      uint64_t given = 0;
    };
    std::map<std::string, Part> parts{};
    std::vector<std::string> devices{};  // full names: "vendor/class=name"
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }  // by path
  void ReportError(const CdiError& trouble) const {
    if (tell_) tell_(trouble);
  }

 private:
  void WriteMerged(const std::string& path, const std::string& resource);
  void DescribeNodes(cdi::Edits& edits) const;

  http::Metrics& metrics_;
  const os::Root root_;
  const CdiErrorHandler tell_;
  uint64_t given_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace tessera
