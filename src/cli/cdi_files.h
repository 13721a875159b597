// SPDX-License-Identifier: Apache-2.0
// The CDI documents of a node, whoever wrote them, as runtimes find them: `tessera cdi list` and
// `check`. One thread.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/host_files.h"
#include "grant/cdi_document.h"

namespace tessera::cli {

struct CdiDocumentFile {
  std::string path;
  size_t rank = 0;  // of its directory: of two documents with one device that of the higher counts
  Result<cdi::Document> document;
};

// Those in these directories, of which later ones rank higher.
std::vector<CdiDocumentFile> ReadCdiFiles(const std::vector<std::string>& directories);

// A line for each device: its whole name, the document, and whether that is the agent's.
std::string CdiListText(const std::vector<CdiDocumentFile>& files);

struct CdiFindings {
  // What keeps a runtime from injecting what the documents name, and who could change them, a
  // sentence each.
  std::vector<Error> errors{};
  std::set<std::string> unseen{};  // paths that they name and that cannot be looked at from here
};
// `root`: who alone may own them.
CdiFindings CheckCdiFiles(const std::vector<CdiDocumentFile>& files, const HostFiles& host,
                          uid_t root = 0);

}  // namespace tessera::cli
