// SPDX-License-Identifier: Apache-2.0
// One CDI document on disk, where the container runtime reads it. It outlives the agent, as a
// restarted container is made from it again. Owned by CdiDocuments. One thread: the loop's.
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
  // `metrics` outlives it. `tell`, if any, gets each write error once, and a change by another
  // party at most once a minute.
  CdiFile(std::string path, std::string kind, http::Metrics& metrics,
          CdiErrorHandler tell = nullptr)
      : path_(std::move(path)), kind_(std::move(kind)), metrics_(metrics), tell_(std::move(tell)) {}

  // Writes the document, unless it stands there already: every write makes the runtime read all
  // documents. The write is counted for `resource`. A failure is logged once; the next call and
  // Restore try again.
  void Write(std::string document, const std::string& resource);
  // Removes the document for good.
  void Remove();

  enum class Against : uint8_t {
    kLoss,    // missing, or not of its kind: else it may be a newer instance's
    kChange,  // any difference
  };
  // Writes the document again where it differs from the last one, or where others may write it.
  void Restore(Against against);

  const std::string& path() const { return path_; }
  // The text that should be on disk.
  const std::string& document() const { return document_; }
  // Whether it was on disk at the last write or look.
  bool written() const { return written_; }
  // The last write error, if it could not be written.
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
  std::string due_;               // the result that a successful write is counted as
  std::optional<Error> refusal_;  // the error that was last logged
  std::optional<Steady> told_;    // the last report of a change
};

// Writes a document, unless it stands there already. kCdiUnsafe: others than root may write in the
// directory. Any thread.
Status PutCdiDocument(const std::string& path, std::string_view text);

}  // namespace tessera
