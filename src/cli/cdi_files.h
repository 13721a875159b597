// SPDX-License-Identifier: Apache-2.0
// A node's CDI documents of all parties, as runtimes find them, for `tessera cdi list` and `check`.
// One thread.
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
  size_t rank = 0;  // of its directory; the document of the highest rank with a device counts
  Result<cdi::Document> document;
};

// Reads the documents in these directories. Later ones rank higher.
std::vector<CdiDocumentFile> ReadCdiFiles(const std::vector<std::string>& directories);

// A line for each device: its full name, its document, and whether that is the agent's.
std::string CdiListText(const std::vector<CdiDocumentFile>& files);

struct CdiFindings {
  // Why runtimes would not inject a document's devices, and which other users could change a
  // document; a sentence each.
  std::vector<Error> errors{};
  std::set<std::string> unseen{};  // paths in documents that this process cannot see
};
// `root`: the only user who may own them.
CdiFindings CheckCdiFiles(const std::vector<CdiDocumentFile>& files, const HostFiles& host,
                          uid_t root = 0);

}  // namespace tessera::cli
