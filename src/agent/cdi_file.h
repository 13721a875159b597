// SPDX-License-Identifier: Apache-2.0
// One resource's CDI document on disk, where the container runtime reads it. It outlives the agent
// and the resource: a running container that is restarted is made from it again. One thread.
#pragma once

#include <string>

#include "grant/grant.h"
#include "share/share.h"

namespace tessera::agent {

class CdiFile {
 public:
  // Writes what the offer's devices need below `directory`, where the rendering asks for CDI,
  // unless this process wrote the same there already: every write makes the runtime read all
  // documents. A document that an earlier call wrote to another place is removed, unless `in_use`:
  // containers may be made from it again. A failure is logged, and tried again with the next call.
  void Write(const std::string& directory, const Offer& offer, const Rendering& rendering,
             bool in_use);

  // As written last; empty while there is none.
  const std::string& path() const { return path_; }
  const std::string& document() const { return document_; }

 private:
  void Leave(bool in_use);

  std::string path_;
  std::string document_;
};

}  // namespace tessera::agent
