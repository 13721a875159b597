// SPDX-License-Identifier: Apache-2.0
#include "config/schema/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace tessera::config {
namespace {

// "a.b[1].c" -> "a.b[1]" -> "a.b" -> "a" -> "".
std::string Around(const std::string& path) {
  const size_t end = path.find_last_of(".[");
  return end == std::string::npos ? "" : path.substr(0, end);
}

bool IsDuplicate(const Problem& problem) {
  return problem.reason == Reason::kConfigDuplicate;
}

}  // namespace

Findings::Findings(const Document& document) : document_(document) {
  for (const Problem& problem : document.problems()) {
    if (!IsDuplicate(problem)) Add(problem);
  }
}

void Findings::TolerateDuplicates() {
  tolerates_duplicates_ = true;
  size_t left_out = 0;
  for (Problem problem : document_.problems()) {
    if (!IsDuplicate(problem)) continue;
    if (warnings_.size() >= kMaxErrors) {
      ++left_out;
      continue;
    }
    if (!problem.text.empty()) problem.message += "; the last one counts";
    AddWarning(std::move(problem));
  }
  if (left_out == 0) return;
  AddWarning({.reason = Reason::kConfigDuplicate,
              .origin = document_.name(),
              .message = fmt::format("{} more", Count(left_out, "repeated key"))});
}

void Findings::SetInFile(const std::string& path, const Node& at, bool good) {
  Node place;
  place.line = at.line;
  place.column = at.column;
  place.scalar = at.scalar;
  places_[path] = {std::move(place), "", good};
}

void Findings::SetOutside(const std::string& path, std::string origin, std::string text,
                          bool good) {
  Node place;
  place.scalar = std::move(text);
  places_[path] = {std::move(place), std::move(origin), good};
}

bool Findings::IsSet(const std::string& path) const {
  return places_.contains(path);
}

bool Findings::IsBad(const std::string& path) const {
  const auto found = places_.find(path);
  return found != places_.end() && !found->second.good;
}

std::string Findings::SourceOf(const std::string& path) const {
  const auto found = places_.find(path);
  if (found == places_.end()) return "default";
  const Place& place = found->second;
  return place.origin.empty() ? fmt::format("{}:{}", document_.name(), place.at.line)
                              : place.origin;
}

std::map<std::string, std::string> Findings::Sources() const {
  std::map<std::string, std::string> sources;
  for (const auto& [path, place] : places_) sources.emplace(path, SourceOf(path));
  return sources;
}

Problem Findings::Make(Reason reason, const std::string& path, std::string_view message,
                       std::string suggestion) const {
  std::string set = path;
  while (!set.empty() && !places_.contains(set)) set = Around(set);
  const auto found = places_.find(set);
  const Place place = found == places_.end() ? Place{} : found->second;
  Problem problem = document_.ProblemAt(reason, place.at, fmt::format("{} {}", path, message),
                                        std::move(suggestion));
  if (!place.origin.empty()) problem.origin = place.origin;
  return problem;
}

void Findings::Add(Problem problem) {
  if (IsFull()) return CountError();
  errors_.push_back(std::move(problem));
}

void Findings::Report(Reason reason, const std::string& path, std::string_view message,
                      std::string suggestion) {
  Add(Make(reason, path, message, std::move(suggestion)));
}

void Findings::Warn(Reason reason, const std::string& path, std::string_view message,
                    std::string suggestion) {
  warnings_.push_back(Make(reason, path, message, std::move(suggestion)));
}

std::vector<Problem> Findings::SortedErrors() const {
  std::vector<Problem> sorted = errors_;
  size_t left_out = left_out_;
  for (const Problem& problem : document_.problems()) {
    if (tolerates_duplicates_ || !IsDuplicate(problem)) continue;
    if (sorted.size() < kMaxErrors) {
      sorted.push_back(problem);
    } else {
      ++left_out;
    }
  }
  const auto place = [](const Problem& problem) {
    return std::pair(problem.line == 0 ? std::numeric_limits<int>::max() : problem.line,
                     problem.column);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  if (left_out > 0) {
    Problem rest;
    rest.reason = sorted.front().reason;
    rest.origin = document_.name();
    rest.message = fmt::format("{} more", Count(left_out, "error"));
    sorted.push_back(std::move(rest));
  }
  return sorted;
}

}  // namespace tessera::config
