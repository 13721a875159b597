// SPDX-License-Identifier: Apache-2.0
// The agent in place of the two device plugins for network cards.
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/go_flag_options.h"
#include "compat/rdma_shared/flags.h"
#include "compat/rdma_shared/translate.h"
#include "compat/sriov/translate.h"
#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

using config::GoCommandLine;
using config::rdma_shared::Translated;
using Translation = std::function<Translated(config::Document document)>;

// Serves by the plugin's file, and by each change of it.
int ServeNics(const Command& command, const Arguments& arguments, GoCommandLine line,
              std::string_view default_file, Translation translate) {
  if (line.help) return Print(HelpText(command, "tessera agent " + command.name));
  if (!line.errors.empty()) {
    PrintToError(config::Text(line.errors));
    return kUsage;
  }
  const std::string file = line.ValueOf("config-file", default_file);
  agent::RunAgent(
      {.file = file,
       .load = [line = std::move(line), translate = std::move(translate), file,
                environment = config::OwnEnvironment(),
                flags = ConfigFlagsIn(arguments)](const std::optional<std::string>& path) {
         Translated translated = translate(config::Document::Read(path.value_or(file)));
         config::LoadResult result;
         if (translated.errors.empty()) {
           result =
               config::Load(FullSchema(), {.file = config::Document::Parse(file, translated.yaml),
                                           .environment = environment,
                                           .flags = flags});
         } else {
           result.schema = &FullSchema();
           result.errors = std::move(translated.errors);
         }
         result.warnings.insert(result.warnings.begin(), translated.warnings.begin(),
                                translated.warnings.end());
         result.warnings.insert(result.warnings.begin(), line.warnings.begin(),
                                line.warnings.end());
         return result;
       }});
}

int ServeRdmaShared(const Arguments& arguments) {
  namespace shared = config::rdma_shared;
  return ServeNics(RdmaSharedCommand(), arguments, shared::ParseFlags(arguments.words()),
                   shared::kFile, shared::Translate);
}

int ServeSriov(const Arguments& arguments) {
  namespace sriov = config::sriov;
  GoCommandLine line = config::rdma_shared::ParseFlags(arguments.words(), sriov::Flags());
  std::string prefix = line.ValueOf("resource-prefix", sriov::kPrefix);
  return ServeNics(SriovCommand(), arguments, std::move(line), sriov::kFile,
                   [prefix = std::move(prefix)](config::Document document) {
                     return sriov::Translate(std::move(document), prefix);
                   });
}

}  // namespace

Command RdmaSharedCommand() {
  return {.name = "rdma-shared",
          .summary = "serve this node in place of the plugin for shared RDMA devices",
          .description =
              "Serves the RDMA network cards of this node by the file of Mellanox's "
              "k8s-rdma-shared-dev-plugin, as it is. A container gets the nodes of one card for "
              "each unit that it asks for, where that plugin gives all. Tessera's own flags stand "
              "before 'rdma-shared'.",
          .options = GoFlagOptions(config::rdma_shared::Flags()),
          .examples = {{"tessera agent rdma-shared -config-file=./config.json",
                        "Serve by another file."}},
          .reads_words = true,
          .run = ServeRdmaShared};
}

Command SriovCommand() {
  return {.name = "sriov",
          .summary = "serve this node in place of the SR-IOV network device plugin",
          .description =
              "Serves the network functions of this node by the file of the SR-IOV network device "
              "plugin, as it is. Flags of its log have no effect. Tessera's own flags stand before "
              "'sriov'.",
          .options = GoFlagOptions(config::sriov::Flags()),
          .examples = {{"tessera agent sriov -resource-prefix=example.com",
                        "Serve resources such as example.com/vfs."}},
          .reads_words = true,
          .run = ServeSriov};
}

}  // namespace tessera::cli
