// SPDX-License-Identifier: Apache-2.0
// Reads a scenario's steps: one time and one action each. One thread.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sim/demo/scenario.h"

namespace tessera::demo {

class StepReader {
 public:
  // Problems go to `document`, which outlives the reader.
  StepReader(config::Document& document, uint64_t seed) : document_(document), random_(seed) {}

  // `path`: the step's place for messages, "steps[3]".
  void Read(const config::Node& step, const std::string& path);
  // All steps read, in the file's order, bursts spread out.
  std::vector<Step> Take() { return std::move(steps_); }

 private:
  using Node = config::Node;

  // One action: its key, and the method that reads its value.
  struct Known {
    std::string_view key;
    void (StepReader::*read)(const Node&, const std::string&);
  };
  static const std::vector<Known>& Actions();
  static std::vector<std::string> Keys();

  void ReadSay(const Node& node, const std::string& path);
  void ReadRun(const Node& node, const std::string& path);
  void ReadBurst(const Node& node, const std::string& path);
  void ReadEnd(const Node& node, const std::string& path);
  void ReadEndAll(const Node& node, const std::string& path);
  void ReadRestartContainer(const Node& node, const std::string& path);
  void ReadFault(const Node& node, const std::string& path);
  void ReadHardware(const Node& node, const std::string& path);
  void ReadMig(const Node& node, const std::string& path);
  void ReadCordon(const Node& node, const std::string& path);
  void ReadUncordon(const Node& node, const std::string& path);
  void ReadKubelet(const Node& node, const std::string& path);
  void ReadAgent(const Node& node, const std::string& path);
  void ReadConfig(const Node& node, const std::string& path);
  void ReadBrokenConfig(const Node& node, const std::string& path);
  void ReadExpect(const Node& node, const std::string& path);

  // The value under `key`; a missing one is a problem.
  const Node* Need(const Node& map, const std::string& path, std::string_view key);
  std::string NeedText(const Node& map, const std::string& path, std::string_view key);
  // The text under `key`; empty: there is none.
  std::string TextOf(const Node& map, const std::string& path, std::string_view key);
  std::optional<int> IntOf(const Node& map, const std::string& path, std::string_view key, int min);
  // "2.5s", "250ms", "1m"; `otherwise` when the key is missing.
  Duration TimeOf(const Node& map, const std::string& path, std::string_view key,
                  Duration otherwise);
  std::string PodName(const Node& map, const std::string& path, std::string_view key);
  std::map<std::string, int> Limits(const Node* node, const std::string& path);
  std::vector<kubelet::ContainerSpec> Containers(const Node& map, const std::string& path);
  void AddConfig(const Node& node, const std::string& path, bool broken);
  void SetCordonOf(const Node& node, const std::string& path, bool out);

  void Add(Action action) { AddAt(at_, std::move(action)); }
  void AddAt(Duration at, Action action);

  config::Document& document_;
  std::mt19937_64 random_;
  Duration at_{};  // of the step being read
  bool unhurried_ = false;
  int line_ = 0;
  // Read so far.
  size_t asked_ = 0;  // by bursts
  int configs_ = 0;
  std::vector<Step> steps_;
};

}  // namespace tessera::demo
