// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml_tree.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/text.h"

namespace tessera::config {
namespace {

// Nodes count as one, and long scalars as one more for every so many bytes, so that the budget
// bounds memory too.
constexpr size_t kBytesPerUnit = 32;

size_t CostOf(const Node& node) {
  size_t cost = 1 + node.scalar.size() / kBytesPerUnit;
  for (const Node& item : node.items) cost += CostOf(item);
  for (const Node::Entry& entry : node.entries) cost += CostOf(entry.key) + CostOf(entry.value);
  return cost;
}

int HeightOf(const Node& node) {
  int height = 0;
  for (const Node& item : node.items) height = std::max(height, HeightOf(item));
  for (const Node::Entry& entry : node.entries) height = std::max(height, HeightOf(entry.value));
  return height + 1;
}

// Builds the tree from the library's events. After the first trouble that makes the rest useless
// it ignores what comes.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlTree& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Stop(At(mark), "a second document begins here; one is all that is read");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = At(mark);
    // The library puts a missing value where the next token is.
    if (!open_.empty() && open_.back().key) {
      node.line = open_.back().key->line;
      node.column = open_.back().key->column;
    }
    Add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return Stop(At(mark), "an alias stands inside what it names");
    if (static_cast<int>(open_.size()) + HeightOf(found->second) > Document::kMaxDepth) {
      return StopTooDeep(At(mark));
    }
    if (Spend(At(mark), CostOf(found->second))) Add(Node(found->second), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = At(mark);
    node.kind = Node::Kind::kScalar;
    node.scalar = value;
    node.quoted = tag != "?";
    Add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(At(mark), Node::Kind::kSequence, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(At(mark), Node::Kind::kMap, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

  void Stop(const YAML::Mark& mark, std::string message) { Stop(At(mark), std::move(message)); }
  bool stopped() const { return stopped_; }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key;                     // of a map: waits for its value
    std::unordered_map<std::string, int> lines;  // of a map: where each key stands
  };

  static Node At(const YAML::Mark& mark) {
    Node node;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Stop(const Node& at, std::string message) {
    if (stopped_) return;
    stopped_ = true;
    tree_.root = Node{};
    tree_.troubles.push_back(
        {at.line, at.column, Reason::kConfigSyntax, at.scalar, std::move(message)});
  }

  void StopTooDeep(const Node& at) {
    Stop(at, fmt::format("nested deeper than {} levels", Document::kMaxDepth));
  }

  // False, and the end, when the budget is used up.
  bool Spend(const Node& at, size_t cost) {
    spent_ += cost;
    if (spent_ > Document::kMaxNodes) {
      Stop(at, fmt::format("more than {} values once aliases are resolved", Document::kMaxNodes));
    }
    return !stopped_;
  }

  void Open(Node node, Node::Kind kind, YAML::anchor_t anchor) {
    if (stopped_) return;
    if (static_cast<int>(open_.size()) >= Document::kMaxDepth) return StopTooDeep(node);
    if (IsKeyNext()) return Stop(node, "a key must be text, not a list or a map");
    node.kind = kind;
    open_.push_back({std::move(node), anchor, {}, {}});
  }

  void Close() {
    if (stopped_) return;
    Frame frame = std::move(open_.back());
    open_.pop_back();
    Add(std::move(frame.node), frame.anchor);
  }

  bool IsKeyNext() const {
    return !open_.empty() && open_.back().node.IsMap() && !open_.back().key;
  }

  // Puts a finished node where it belongs.
  void Add(Node node, YAML::anchor_t anchor) {
    if (stopped_ || !Spend(node, 1 + node.scalar.size() / kBytesPerUnit)) return;
    if (anchor != 0) {
      if (!Spend(node, CostOf(node))) return;
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      tree_.root = std::move(node);
    } else if (open_.back().node.IsSequence()) {
      open_.back().node.items.push_back(std::move(node));
    } else if (open_.back().key) {
      AddEntry(open_.back(), std::move(node));
    } else if (node.IsScalar()) {
      open_.back().key = std::move(node);
    } else {
      Stop(node, "a key must be text");
    }
  }

  void AddEntry(Frame& frame, Node value) {
    Node key = *std::move(frame.key);
    frame.key.reset();
    const auto [first, is_new] = frame.lines.emplace(key.scalar, key.line);
    if (is_new) {
      frame.node.entries.push_back({std::move(key), std::move(value)});
      return;
    }
    tree_.troubles.push_back(
        {key.line, key.column, Reason::kConfigDuplicate, key.scalar,
         fmt::format("key {} stands here a second time; the first is on line {}",
                     Quoted(key.scalar), first->second)});
  }

  YamlTree& tree_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, Node> anchors_;  // finished ones only
  size_t spent_ = 0;
  int documents_ = 0;
  bool stopped_ = false;
};

// A pattern such as *A100* is an alias to YAML, which few know.
std::string_view AboutStars(std::string_view message) {
  const bool alias =
      message == YAML::ErrorMsg::UNKNOWN_ANCHOR || message == YAML::ErrorMsg::ALIAS_NOT_FOUND;
  return alias ? "; a text that begins with '*' must stand in quotes" : "";
}

}  // namespace

YamlTree BuildTree(const std::string& text) {
  YamlTree tree;
  tree.root.line = tree.root.column = 1;
  TreeBuilder builder(tree);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    // The library never gets past some texts, such as `"a",`: it ends with the first trouble.
    while (!builder.stopped() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    builder.Stop(exception.mark,
                 fmt::format("not valid YAML: {}{}", exception.msg, AboutStars(exception.msg)));
  } catch (const std::exception& exception) {
    builder.Stop(YAML::Mark(), fmt::format("not valid YAML: {}", exception.what()));
  }
  return tree;
}

}  // namespace tessera::config
