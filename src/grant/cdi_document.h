// SPDX-License-Identifier: Apache-2.0
// A CDI document as data: what a container gets for each device that it names, and once for naming
// any. Written in the lowest version of the format that has all of it; read as strictly as runtimes
// read. Pure; plain data; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::cdi {

struct Node {
  std::string path;                      // in the container
  std::string host_path{};               // empty: the same path
  std::string type{};                    // "c", "b", "p" or "u"; empty: the runtime looks
  std::optional<int64_t> major{};        // likewise
  std::optional<int64_t> minor{};        // likewise
  std::optional<uint32_t> file_mode{};   // permission bits
  std::string permissions{};             // of "rwm", for the device cgroup; empty: all
  std::optional<uint32_t> uid{}, gid{};  // none: the container's user
  auto operator<=>(const Node&) const = default;

  const std::string& OnHost() const { return host_path.empty() ? path : host_path; }
};

struct Mount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options{};
  std::string type{};
  auto operator<=>(const Mount&) const = default;
};

// A program of the host that the runtime runs for the container.
struct Hook {
  std::string name;  // when: "createContainer", ...
  std::string path;  // on the host
  std::vector<std::string> args{};
  std::vector<std::string> env{};
  std::optional<int64_t> timeout{};  // seconds
  auto operator<=>(const Hook&) const = default;
};

struct Edits {
  std::vector<std::string> env{};
  std::vector<Node> nodes{};
  std::vector<Mount> mounts{};
  std::vector<Hook> hooks{};
  std::vector<uint32_t> additional_gids{};
  bool operator==(const Edits&) const = default;

  bool empty() const { return *this == Edits(); }
};

struct Device {
  std::string name;
  Edits edits{};
  // Whether the device is there now. Merge prefers a present one of two with one name. Not written.
  bool present = true;
  bool operator==(const Device&) const = default;
};

struct Document {
  std::string kind;  // "vendor.com/class"
  std::vector<Device> devices{};
  Edits edits{};  // once, for a container that names any of the devices
  bool operator==(const Document&) const = default;
};

// What a backend says for CDI documents beyond nodes and mounts (Backend::DescribeForCdi).
struct Parts {
  Edits common{};                          // for every container with one of the devices
  std::map<std::string, Edits> devices{};  // by device id; they replace its nodes and mounts
  std::vector<Document> others{};          // whole documents, of other kinds
  bool operator==(const Parts&) const = default;
};

// Appends the edits to those of `to`.
void Append(const Edits& from, Edits& to);

// Sorts nodes and mounts by the depth of their container paths, then by path, so that no mount
// covers an earlier one.
void Sort(Edits& edits);

// Merges documents of one kind: all their devices, in natural order of their names, and the common
// edits of the last document that has any. Each document describes these afresh.
Document Merge(const std::vector<const Document*>& documents);

// Removes duplicates, and edits of a device that every container gets anyway. Leaves out devices
// without edits, which CDI forbids.
Document Tidy(Document document);

// The lowest version whose readers know all that the document uses: "0.3.0".
std::string Version(const Document& document);

// The document as JSON; empty if it has no devices, because there is no such document.
std::string Text(const Document& document);

// Reads a document (JSON). kInvalid says what a runtime refuses in it.
Result<Document> Read(std::string_view text);

// Grammar of names. Vendor and class have at least two characters: one runtime in use crashes on
// shorter ones.
bool IsVendorOrClass(std::string_view text);
bool IsDeviceName(std::string_view text);

}  // namespace tessera::cdi
