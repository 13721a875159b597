// SPDX-License-Identifier: Apache-2.0
// The CDI documents of a node, whoever wrote them, as runtimes find them: `tessera cdi list` and
// `check`. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
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

// What keeps a runtime from injecting what the documents name, and who could change them, a
// sentence each; empty: nothing. `root`: who alone may own them.
std::vector<Error> CheckCdiFiles(const std::vector<CdiDocumentFile>& files, uid_t root = 0);

}  // namespace tessera::cli
