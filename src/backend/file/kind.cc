// SPDX-License-Identifier: Apache-2.0
// Device files: `files: {paths: ["/dev/ttyUSB*"]}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/file/file.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kFiles = kKindConfig<FileConfig>;
constexpr auto kGroup = [](auto& config, const At& at) -> auto& {
  return kFiles(config, at).groups[at[1]];
};
constexpr auto kPath = [](auto& config, const At& at) -> auto& {
  return kGroup(config, at).paths[at[2]];
};

std::vector<Key> PathKeys() {
  return {
      {.name = "path",
       .type = Type::kPath,
       .doc = "A path, or a pattern with `*`, `?` and `[...]`. Every match is a device. With "
              "several paths in a group, matches that belong together are one device. A directory "
              "that is not mounted is one device with all device nodes below it.",
       .example = "/dev/ttyUSB*",
       .required = true,
       .field = Bind(kPath, &FileConfig::Path::pattern)},
      {.name = "containerPath",
       .type = Type::kPath,
       .doc = "Path in the container: of the file if the path matches one file, else of the "
              "directory for all.",
       .example = "/dev/serial",
       .default_note = "the same path as on the host",
       .field = Bind(kPath, &FileConfig::Path::container_path)},
      {.name = "permissions",
       .doc = "What the container may do with a device node: letters of `r`, `w` and `m`.",
       .example = "rw",
       .check = CheckPermissions,
       .field = Bind(kPath, &FileConfig::Path::permissions)},
      {.name = "mount",
       .type = Type::kBool,
       .doc = "Whether the path is a file or directory to mount, not device nodes.",
       .example = "true",
       .field = Bind(kPath, &FileConfig::Path::mount)},
      {.name = "readOnly",
       .type = Type::kBool,
       .doc = "Whether the mount is read-only.",
       .example = "false",
       .field = Bind(kPath, &FileConfig::Path::read_only)},
      {.name = "optional",
       .type = Type::kBool,
       .doc = "Whether the group is a device even if this path has no match.",
       .example = "true",
       .field = Bind(kPath, &FileConfig::Path::optional)},
  };
}

std::vector<Key> FilesKeys() {
  return {
      {.name = "paths",
       .type = Type::kPathList,
       .doc = "Short form: each path is a group of its own, with defaults for the other keys.",
       .example = "[\"/dev/ttyUSB*\"]",
       .default_note = "none",
       .expands_to = "groups[].paths[].path"},
      {.name = "groups",
       .type = Type::kList,
       .doc = "Groups of files. Files that belong together are one device.",
       .max = 1024,
       .list = BindList(kFiles, &FileConfig::groups),
       .children =
           [] {
             return std::vector<Key>{{.name = "paths",
                                      .type = Type::kList,
                                      .doc = "The files of one device.",
                                      .required = true,
                                      .max = 64,
                                      .list = BindList(kGroup, &FileConfig::Group::paths),
                                      .children = PathKeys}};
           }},
  };
}

void Complete(Config&, size_t) {}

void CheckPath(const FileConfig::Path& path, const std::string& at, Findings& findings) {
  if (path.mount && findings.IsSet(at + ".permissions")) {
    findings.Warn(Reason::kConfigBadValue, at + ".permissions",
                  "has no effect on a mount; 'readOnly' has");
  }
  if (!path.mount && findings.IsSet(at + ".readOnly")) {
    findings.Warn(Reason::kConfigBadValue, at + ".readOnly",
                  "has no effect on a device node; 'permissions' has");
  }
}

void CheckFiles(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const auto& files = *config.resources[index].kind.As<FileConfig>();
  if (files.groups.empty() && !findings.IsBad(path + ".paths") &&
      !findings.IsBad(path + ".groups")) {
    findings.Report(Reason::kConfigMissing, path, "needs at least one path or group");
  }
  for (size_t i = 0; i < files.groups.size(); ++i) {
    const std::vector<FileConfig::Path>& paths = files.groups[i].paths;
    const std::string group = fmt::format("{}.groups[{}]", path, i);
    for (size_t j = 0; j < paths.size(); ++j) {
      CheckPath(paths[j], fmt::format("{}.paths[{}]", group, j), findings);
    }
    const bool none_needed = std::all_of(paths.begin(), paths.end(),
                                         [](const FileConfig::Path& p) { return p.optional; });
    // `paths` that is missing or no list has been reported.
    const bool is_list = findings.IsSet(group + ".paths") && !findings.IsBad(group + ".paths");
    if (none_needed && is_list) {
      findings.Report(Reason::kConfigBadValue, group + ".paths",
                      "needs at least one path that is not optional");
    }
  }
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<FileBackend>(resource.name, *resource.kind.As<FileConfig>(), at.root,
                                       at.loop);
}

Kind MakeKind() {
  return {.section = {.name = "files",
                      .type = Type::kSection,
                      .doc = "Devices that are files on the host, found by path or pattern.",
                      .choice = KindChoice<FileConfig>(),
                      .children = FilesKeys},
          .is = IsKind<FileConfig>,
          .complete = Complete,
          .check = CheckFiles,
          .make = Make};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::file {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::file
