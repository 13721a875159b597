// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_documents.h"

#include <algorithm>
#include <utility>

#include "backend/node_facts.h"
#include "grant/grant.h"

namespace tessera {

void CdiDocuments::Write(const std::string& resource, const std::string& directory,
                         std::vector<cdi::Document> documents, bool in_use, Since since) {
  std::set<std::string> given;
  std::set<std::string> touched;
  for (cdi::Document& document : documents) {
    if (document.devices.empty()) continue;
    const std::string path = directory + "/" + CdiFileName(document.kind);
    const auto entry = entries_.try_emplace(
        path, Entry{.file = CdiFile(path, document.kind, metrics_, tell_), .kind = document.kind});
    given.insert(path);
    Entry::Part& part = entry.first->second.parts[resource];
    if (since == Since::kOther && part.document == document) continue;
    touched.insert(path);
    part = {std::move(document), ++given_};
  }
  for (auto& [path, entry] : entries_) {
    if (given.contains(path) || !entry.parts.contains(resource)) continue;
    if (in_use && !entry.parts[resource].document.devices.empty()) continue;
    entry.parts.erase(resource);
    touched.insert(path);
  }
  for (const std::string& path : touched) WriteMerged(path, resource);
}

void CdiDocuments::WriteMerged(const std::string& path, const std::string& resource) {
  Entry& entry = entries_.at(path);
  std::vector<const Entry::Part*> parts;
  for (const auto& [name, part] : entry.parts) parts.push_back(&part);
  std::ranges::sort(parts, {}, &Entry::Part::given);
  std::vector<const cdi::Document*> documents;
  for (const Entry::Part* part : parts) documents.push_back(&part->document);
  cdi::Document merged = cdi::Merge(documents);
  DescribeNodes(merged.edits);
  for (cdi::Device& device : merged.devices) DescribeNodes(device.edits);
  merged = cdi::Tidy(std::move(merged));
  entry.devices.clear();
  for (const cdi::Device& device : merged.devices) {
    entry.devices.push_back(merged.kind + "=" + device.name);
  }
  std::string text = cdi::Text(merged);
  if (!text.empty()) return entry.file.Write(std::move(text), resource);
  entry.file.Remove();
  entries_.erase(path);
}

void CdiDocuments::DescribeNodes(cdi::Edits& edits) const {
  for (cdi::Node& node : edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
}

void CdiDocuments::Restore(CdiFile::Against against) {
  for (auto& [path, entry] : entries_) entry.file.Restore(against);
}

bool CdiDocuments::AllWritten() const {
  return std::ranges::all_of(entries_, [](const auto& item) { return item.second.file.written(); });
}

std::set<std::string> CdiDocuments::Directories() const {
  std::set<std::string> directories;
  for (const auto& [path, entry] : entries_) directories.insert(path.substr(0, path.rfind('/')));
  return directories;
}

}  // namespace tessera
