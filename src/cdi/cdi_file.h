// SPDX-License-Identifier: Apache-2.0
// One CDI document on disk, where the container runtime reads it. It outlives the agent: a running
// container that is restarted is made from it again. Owned by CdiDocuments. One thread: the loop's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cdi/cdi_error.h"
#include "http/metrics.h"

namespace tessera {

class CdiFile {
 public:
  // `metrics` outlives it. `tell`, if any, is told why the document does not stand, once, and that
  // somebody changed it, once a minute.
  CdiFile(std::string path, std::string kind, http::Metrics& metrics,
          CdiErrorHandler tell = nullptr)
      : path_(std::move(path)), kind_(std::move(kind)), metrics_(metrics), tell_(std::move(tell)) {}

  // Writes the document, unless the same stands there already: every write makes the runtime read
  // all documents. It counts for this resource. A failure is logged once, and tried again with the
  // next call and with Restore.
  void Write(std::string document, const std::string& resource);
  // There is to be no such document any more.
  void Remove();

  enum class Against : uint8_t {
    kLoss,    // whatever is no document of its kind; another one may be a newer instance's
    kChange,  // everything else
  };
  // Puts the document back where it is not what was written last, or others may write it.
  void Restore(Against against);

  const std::string& path() const { return path_; }
  // What should stand on disk.
  const std::string& document() const { return document_; }
  // It stood there when it was written or looked at last.
  bool written() const { return written_; }
  // Why it could not be written, if so.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  void WriteDocument();
  void TellChanged(const std::string& how);

  const std::string path_;
  const std::string kind_;
  http::Metrics& metrics_;
  CdiErrorHandler tell_;
  std::string resource_;
  std::string document_;
  bool written_ = false;
  std::string due_;               // what a write that comes off is counted as
  std::optional<Error> refusal_;  // why it could not be written, as the log last said
  std::optional<Steady> told_;    // that it had been changed
};

// Writes a document, unless the same stands there already, into a directory that nobody but root
// may write in: kCdiUnsafe otherwise. Any thread.
Status PutCdiDocument(const std::string& path, std::string_view text);

}  // namespace tessera
