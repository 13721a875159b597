// SPDX-License-Identifier: Apache-2.0
// The CDI documents of all resources: one for each kind of CDI devices, however many resources have
// devices of it, for runtimes refuse devices that two documents name. Device nodes that a
// document does not describe are looked at when it is written, so that the runtime need not follow
// links. Outlives the resources. One thread: the loop's.
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
  // `metrics` outlives it. `root`: where device nodes are looked up. `tell`, if any: who is told of
  // trouble besides the log.
  CdiDocuments(http::Metrics& metrics, os::Root root, CdiErrorHandler tell = nullptr)
      : metrics_(metrics), root_(std::move(root)), tell_(std::move(tell)) {}

  // What the containers of this resource need now, below `directory`, is written, with what those
  // of other resources need of the same kinds. What it gave before to other documents goes, unless
  // `in_use`: containers may be made from it again. What it gives once more is looked at only when
  // a scan has seen the node since.
  enum class Since : bool { kOther, kScan };
  void Write(const std::string& resource, const std::string& directory,
             std::vector<cdi::Document> documents, bool in_use, Since since = Since::kScan);
  // Nobody holds anything of the resource, and nobody will.
  void DropResource(const std::string& resource) { Write(resource, "", {}, false); }

  // Puts back what is not as it was written.
  void Restore(CdiFile::Against against);
  bool AllWritten() const;
  // That there are documents in.
  std::set<std::string> Directories() const;

  struct Entry {
    CdiFile file;
    std::string kind;
    // What each resource gives to it, and when it gave that.
    struct Part {
      cdi::Document document;
      uint64_t given = 0;
    };
    std::map<std::string, Part> parts{};
    std::vector<std::string> devices{};  // whole names of those that it has
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
