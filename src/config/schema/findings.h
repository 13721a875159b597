// SPDX-License-Identifier: Apache-2.0
// What is known about a configuration while it is read: where each setting came from, and what is
// wrong so far. One thread.
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
  // `document` outlives this; its problems so far are the first errors.
  explicit Findings(const Document& document);

  // What stands twice in the document is told as a warning, as programs see it that go on with such
  // a file. Before anything is read.
  void TolerateDuplicates();

  // `path` is set by this node of the file; `good` says whether its value could be used.
  void SetInFile(const std::string& path, const Node& at, bool good = true);
  // `path` is set by "environment NAME" or "flag --NAME", which takes the file's place.
  void SetOutside(const std::string& path, std::string origin, std::string text, bool good);

  bool IsSet(const std::string& path) const;
  // Whether it is set to something that could not be used: then rules about its value keep still.
  bool IsBad(const std::string& path) const;
  // "tessera.yaml:3", "environment NAME", "flag --NAME" or "default".
  std::string SourceOf(const std::string& path) const;
  // The same of every path that is set.
  std::map<std::string, std::string> Sources() const;

  // Adds "PATH MESSAGE" at the place where `path` is set, or the nearest section around it.
  void Report(Reason reason, const std::string& path, std::string_view message,
              std::string suggestion = "");
  void Warn(Reason reason, const std::string& path, std::string_view message,
            std::string suggestion = "");
  void Add(Problem problem);
  void AddWarning(Problem problem) { warnings_.push_back(std::move(problem)); }

  // A file with so many errors is not the one that was meant: further ones are counted only.
  static constexpr size_t kMaxErrors = 100;
  bool IsFull() const { return errors_.size() >= kMaxErrors; }

  // In the order of the file, then the rest.
  std::vector<Problem> SortedErrors() const;
  const std::vector<Problem>& warnings() const { return warnings_; }

 private:
  struct Place {
    Node at;             // of the file
    std::string origin;  // when not of the file
    bool good = true;
  };
  Problem Make(Reason reason, const std::string& path, std::string_view message,
               std::string suggestion) const;

  const Document& document_;
  std::map<std::string, Place> places_;
  std::vector<Problem> errors_;
  std::vector<Problem> warnings_;
  size_t left_out_ = 0;
};

}  // namespace tessera::config
