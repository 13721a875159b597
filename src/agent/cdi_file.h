// SPDX-License-Identifier: Apache-2.0
// One resource's CDI document on disk, where the container runtime reads it. It outlives the agent
// and the resource: a running container that is restarted is made from it again. Owned by its
// ServedResource. One thread: the loop's.
#pragma once

#include <cstdint>
#include <string>

#include "grant/grant.h"
#include "http/metrics.h"
#include "share/share.h"

namespace tessera::agent {

class CdiFile {
 public:
  // `metrics` outlives it.
  CdiFile(std::string resource, http::Metrics& metrics)
      : resource_(std::move(resource)), metrics_(metrics) {}

  // Writes what the offer's devices need below `directory`, where the rendering asks for CDI
  // and for us to write it, unless this process wrote the same there already: every write makes the
  // runtime read all documents. A document that an earlier call wrote to another place is removed,
  // unless `in_use`: containers may be made from it again. A failure is logged once, and tried
  // again with the next call and with Keep.
  void Write(const std::string& directory, const Offer& offer, const Rendering& rendering,
             bool in_use);

  enum class Against : uint8_t {
    kLoss,    // whatever is no document of its kind; another one may be a newer instance's
    kChange,  // everything else
  };
  // Puts the document back where it is not what was written last.
  void Keep(Against against);

  // What should stand on disk; empty where there is to be none.
  const std::string& path() const { return path_; }
  const std::string& document() const { return document_; }
  // It stood there when it was written or looked at last.
  bool written() const { return written_; }

 private:
  void Put();
  void Leave(bool in_use);

  const std::string resource_;
  http::Metrics& metrics_;
  std::string kind_;
  std::string path_;
  std::string document_;
  bool written_ = false;
  std::string due_;      // what a write that comes off is counted as
  std::string refusal_;  // why it could not be written, as the log last said
};

}  // namespace tessera::agent
