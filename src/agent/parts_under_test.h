// SPDX-License-Identifier: Apache-2.0
// An agent's parts around a node, connected as in the agent. There is no kubelet and no API server.
// Header-only, for tests.
#pragma once

#include <memory>
#include <string>

#include "agent/reconciler.h"
#include "prepare/preparation_keeper.h"

namespace tessera::agent {

// Ignores all events.
class SilentPluginObserver : public kubelet::PluginObserver {
 public:
  void StateChanged(const std::string&, kubelet::PluginState) override {}
  void Registered(const std::string&, const Status&) override {}
  void StreamsChanged(const std::string&, int) override {}
  void ListSent(const std::string&, size_t) override {}
};

struct PartsUnderTest {
  // `node` outlives it.
  PartsUnderTest(Node& node_, const std::string& directory_)
      : node(node_),
        directory(directory_),
        saver(node, metrics, directory),
        cdi(metrics, os::Root(directory)) {}

  os::Loop loop;
  os::Workers workers{8};
  http::Metrics metrics;
  Node& node;
  const std::string directory;
  StateSaver saver;
  os::Alarm tick{loop, [] {}};
  NodeReporter node_reporter{loop, node, metrics, [] { return false; }, [] {}};
  CdiDocuments cdi;
  LabelSync labels{{.loop = loop,
                    .may_write = [] { return false; },
                    .labellers = [](const config::Config&) { return Labellers(); }},
                   config::Config{}};
  const std::shared_ptr<BindContext> context = std::make_shared<BindContext>();
  GrantKeeper grants{{.loop = loop,
                      .workers = workers,
                      .metrics = metrics,
                      .context = context,
                      .inbox = node.ledger().inbox(),
                      .cut = [](const auto&) {}}};
  PreparationKeeper preparations{{.loop = loop,
                                  .workers = workers,
                                  .state_dir = directory,
                                  .root = os::Root(),
                                  .changed = [this](const Preparations::Standing& now) {
                                    reconciler.Reconcile(
                                        node.SetPrepared(now.held, now.outstanding, now.obstacles));
                                  }}};
  SilentPluginObserver observer;
  int came_or_went = 0;  // how often resources were added or ended
  ResourceSet resources{{.loop = loop,
                         .workers = workers,
                         .metrics = metrics,
                         .node = node,
                         .cdi = cdi,
                         .events = reconciler,
                         .observer = observer,
                         .context = context,
                         .preparations = preparations.preparations()},
                        grants,
                        [this] { ++came_or_went; }};
  Reconciler reconciler{{.node = node,
                         .saver = saver,
                         .cdi = cdi,
                         .resources = resources,
                         .node_reporter = node_reporter,
                         .labels = labels,
                         .metrics = metrics,
                         .tick = tick}};
};

}  // namespace tessera::agent
