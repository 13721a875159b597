// SPDX-License-Identifier: Apache-2.0
// The state of a reading: the origin of each setting, and the errors and warnings so far. One
// thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/problem.h"
#include "config/schema/yaml.h"

namespace tessera::config {

class Findings {
 public:
  // `document` outlives it; its problems are the first errors.
  explicit Findings(const Document& document);

  // Turns duplicate keys into warnings, as programs that accept such a file do.
  void TolerateDuplicates();

  // Notes that this node of the file sets `path`; `good`: its value could be used.
  void SetInFile(const std::string& path, const Node& at, bool good = true);
  // Notes that "environment NAME" or "flag --NAME" sets `path`, instead of the file.
  void SetOutside(const std::string& path, std::string origin, std::string text, bool good);

  bool IsSet(const std::string& path) const;
  // Whether its value could not be used. Rules about the value then report nothing.
  bool IsBad(const std::string& path) const;
  // "tessera.yaml:3", "environment NAME", "flag --NAME" or "default".
  std::string SourceOf(const std::string& path) const;
  // SourceOf for every path that is set.
  std::map<std::string, std::string> Sources() const;

  // Adds "PATH MESSAGE" at the place that sets `path`, or at the nearest section around it.
  void Report(Reason reason, const std::string& path, std::string_view message,
              std::string suggestion = "");
  void Warn(Reason reason, const std::string& path, std::string_view message,
            std::string suggestion = "");
  void Add(Problem problem);
  void AddWarning(Problem problem) { warnings_.push_back(std::move(problem)); }

  // A file with this many errors was given by mistake; further ones are only counted.
  static constexpr size_t kMaxErrors = 100;
  bool IsFull() const { return errors_.size() >= kMaxErrors; }
  void CountError() { ++left_out_; }  // of a full one

  // The file's errors in its order, then the rest.
  std::vector<Problem> SortedErrors() const;
  const std::vector<Problem>& warnings() const { return warnings_; }

 private:
  struct Place {
    Node at;             // in the file
    std::string origin;  // if not in the file
    bool good = true;
  };
  Problem Make(Reason reason, const std::string& path, std::string_view message,
               std::string suggestion) const;

  const Document& document_;
  std::map<std::string, Place> places_;
  std::vector<Problem> errors_;  // without the document's duplicates
  std::vector<Problem> warnings_;
  size_t left_out_ = 0;
  bool tolerates_duplicates_ = false;
};

}  // namespace tessera::config
