// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "backend/sysfs.h"
#include "base/text.h"
#include "os/thread.h"

namespace tessera::rdma {
namespace {

// Interfaces that the kernel has made up, such as a pod's, are "virtual" devices.
std::vector<Face> ReadInterfaces(const sysfs::Directory& interfaces,
                                 std::vector<std::string> names) {
  std::vector<Face> faces;
  for (std::string& name : names) {
    const std::string link = interfaces.Link(name);
    if (link.empty() || link.find("/devices/virtual/") != link.npos) continue;
    faces.push_back({std::string(FunctionIn(link, "net")), std::move(name)});
  }
  std::ranges::sort(faces);
  return faces;
}

// A directory that is not there has no names. One that cannot be read may have some.
Result<std::vector<std::string>> List(const os::Root& root, std::string_view directory) {
  auto names = os::ListDirectory(root.Path(directory));
  if (!names && names.error().reason == Reason::kNotFound) return std::vector<std::string>();
  return names;
}

}  // namespace

std::string_view FunctionIn(std::string_view link, std::string_view of_class) {
  const auto without_last = [&] { return link.substr(0, std::min(link.rfind('/'), link.size())); };
  link = without_last();
  if (FileName(link) != of_class) return "";
  link = without_last();
  const std::string_view name = FileName(link);
  return name.find(':') == name.npos ? "" : name;
}

Result<Names> ReadNames(const os::Root& root, bool is_urgent) {
  Names names{.functions = TRY(List(root, "/sys/bus/pci/devices"))};
  const auto list = [&](std::vector<std::string>& into, std::string_view directory) {
    return [&, directory] {
      return List(root, directory).map([&](auto found) { into = std::move(found); });
    };
  };
  // Neighbours take as long as others, so that parts of these do.
  const std::function<Status()> reads[] = {
      [&] {
        constexpr char kNet[] = "/sys/class/net";
        return List(root, kNet).map([&](auto found) {
          names.interfaces = ReadInterfaces(sysfs::Directory(root.Path(kNet)), std::move(found));
        });
      },
      list(names.vfio, "/dev/vfio"),
      list(names.infiniband, "/dev/infiniband"),
      list(names.uios, "/sys/class/uio"),
      list(names.mads, "/sys/class/infiniband_mad"),
      list(names.hcas, "/sys/class/infiniband"),
      list(names.verbs, "/sys/class/infiniband_verbs")};
  std::array<Status, std::size(reads)> read;
  const auto run = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) read[i] = reads[i]();
  };
  const bool has_many = names.functions.size() >= os::kEnoughFiles;
  os::InParts(std::size(reads), run, is_urgent && has_many ? 0 : SIZE_MAX);
  for (const Status& each : read) TRY(each);
  return names;
}

std::vector<Face> ReadFaces(const os::Root& root, std::string_view of_class,
                            std::span<const std::string> members) {
  const sysfs::Directory directory(root.Path(fmt::format("/sys/class/{}", of_class)));
  std::vector<Face> faces(members.size());
  os::InParts(members.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      faces[i] = {std::string(FunctionIn(directory.Link(members[i]), of_class)), members[i]};
    }
  });
  std::erase_if(faces, [](const Face& face) { return face.function.empty(); });
  std::ranges::sort(faces);
  return faces;
}

std::vector<std::string> NamesOf(std::span<const Face> faces, std::string_view function) {
  std::vector<std::string> names;
  for (const Face& face : std::ranges::equal_range(faces, function, {}, &Face::function)) {
    names.push_back(face.name);
  }
  std::ranges::sort(names, NaturalLess());
  return names;
}

}  // namespace tessera::rdma
