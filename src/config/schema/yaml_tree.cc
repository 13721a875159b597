// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml_tree.h"

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace tessera::config {
namespace {

// A node costs one unit, and one more for every so many bytes of a long scalar. So the budget
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

std::string TextOf(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

Node At(const yaml_mark_t& mark) {
  Node node;
  node.line = static_cast<int>(mark.line) + 1;
  node.column = static_cast<int>(mark.column) + 1;
  return node;
}

// Whether the text, without quotes, means null.
bool IsNullText(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// A pattern such as *A100* is an alias in YAML, which few people know.
constexpr std::string_view kAboutStars = "; put a text that begins with '*' in quotes";

// Builds the tree from the library's events. After a fatal trouble it ignores the rest.
class TreeBuilder {
 public:
  explicit TreeBuilder(YamlTree& tree) : tree_(tree) {}

  void Take(const yaml_event_t& event) {
    const Node at = At(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        document_ = at;
        return;
      case YAML_ALIAS_EVENT:
        return TakeAlias(at, TextOf(event.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return TakeScalar(at, event);
      case YAML_SEQUENCE_START_EVENT:
        return Open(at, Node::Kind::kSequence, TextOf(event.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        return Open(at, Node::Kind::kMap, TextOf(event.data.mapping_start.anchor));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return Close();
      default:
        return;
    }
  }

  void Stop(const Node& at, std::string message) {
    if (stopped_) return;
    stopped_ = true;
    tree_.root = Node{};
    tree_.troubles.push_back(
        {at.line, at.column, Reason::kConfigSyntax, at.scalar, std::move(message)});
  }
  // Whether the rest of the text is ignored.
  bool stopped() const { return stopped_ || ended_; }

 private:
  struct Frame {
    Node node;
    std::string anchor;
    std::optional<Node> key;                            // in a map: waits for its value
    std::unordered_map<std::string, size_t> positions;  // in a map: the entry of each key
  };

  // Whether a document with content went before; then reading ends. A "---" at the end of a file,
  // or comments after one, make an empty document.
  bool IsOfAnother() {
    if (ended_) return true;
    if (!open_.empty() || tree_.root.IsNull()) return false;
    ended_ = true;
    tree_.troubles.push_back({document_.line, document_.column, Reason::kConfigDuplicate, "",
                              "a second document begins here; only the first is read"});
    return true;
  }

  void TakeScalar(const Node& at, const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    Node node = at;
    node.kind = Node::Kind::kScalar;
    node.scalar.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    node.quoted = scalar.tag != nullptr || scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (!node.quoted && IsNullText(node.scalar)) {
      node = at;
      // The library puts a missing value at the next token. Its key's place is better.
      if (!open_.empty() && open_.back().key) {
        node.line = open_.back().key->line;
        node.column = open_.back().key->column;
      }
      if (open_.empty()) return;
    }
    if (IsOfAnother()) return;
    Add(std::move(node), TextOf(scalar.anchor));
  }

  void TakeAlias(const Node& at, const std::string& name) {
    if (IsOfAnother()) return;
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return Stop(at, fmt::format("not valid YAML: nothing before it is named {}{}", Quoted(name),
                                  kAboutStars));
    }
    if (!found->second) return Stop(at, "an alias is inside the value that it names");
    const Node& named = *found->second;
    if (static_cast<int>(open_.size()) + HeightOf(named) > Document::kMaxDepth) {
      return StopTooDeep(at);
    }
    if (Spend(at, CostOf(named))) Add(Node(named), "");
  }

  void StopTooDeep(const Node& at) {
    Stop(at, fmt::format("nested deeper than {} levels", Document::kMaxDepth));
  }

  // False: the budget is used up, and reading ends.
  bool Spend(const Node& at, size_t cost) {
    spent_ += cost;
    if (spent_ > Document::kMaxNodes) {
      Stop(at, fmt::format("more than {} values once aliases are resolved", Document::kMaxNodes));
    }
    return !stopped_;
  }

  void Open(Node node, Node::Kind kind, std::string anchor) {
    if (stopped_ || IsOfAnother()) return;
    if (static_cast<int>(open_.size()) >= Document::kMaxDepth) return StopTooDeep(node);
    if (IsKeyNext()) return Stop(node, "a key must be text, not a list or a map");
    node.kind = kind;
    if (!anchor.empty()) anchors_[anchor].reset();
    open_.push_back({std::move(node), std::move(anchor), {}, {}});
  }

  void Close() {
    if (stopped_) return;
    Frame frame = std::move(open_.back());
    open_.pop_back();
    if (frame.node.IsMap()) Merge(frame.node.entries);
    Add(std::move(frame.node), frame.anchor);
  }

  bool IsKeyNext() const {
    return !open_.empty() && open_.back().node.IsMap() && !open_.back().key;
  }

  // Puts a finished node into its parent.
  void Add(Node node, const std::string& anchor) {
    if (stopped_ || !Spend(node, 1 + node.scalar.size() / kBytesPerUnit)) return;
    if (!anchor.empty()) {
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

  // YAML 1.1's "<<": takes the entries of another map whose keys this one lacks; of several maps
  // the first counts. A value that is no map stays, so that the reader reports it.
  static void Merge(std::vector<Node::Entry>& entries) {
    const auto merge = std::ranges::find_if(entries, [](const Node::Entry& entry) {
      const bool is_list = entry.value.IsSequence() && !entry.value.items.empty() &&
                           std::ranges::all_of(entry.value.items, &Node::IsMap);
      return entry.key.scalar == "<<" && !entry.key.quoted && (entry.value.IsMap() || is_list);
    });
    if (merge == entries.end()) return;
    Node merged = std::move(merge->value);
    entries.erase(merge);
    std::unordered_set<std::string> known;
    for (const Node::Entry& entry : entries) known.insert(entry.key.scalar);
    const auto take = [&](std::vector<Node::Entry>& others) {
      for (Node::Entry& other : others) {
        if (known.insert(other.key.scalar).second) entries.push_back(std::move(other));
      }
    };
    take(merged.entries);
    for (Node& item : merged.items) take(item.entries);
  }

  // The last value of a duplicate key counts, as in Go's YAML.
  void AddEntry(Frame& frame, Node value) {
    Node key = *std::move(frame.key);
    frame.key.reset();
    const auto [first, is_new] = frame.positions.emplace(key.scalar, frame.node.entries.size());
    if (is_new) {
      frame.node.entries.push_back({std::move(key), std::move(value)});
      return;
    }
    Node::Entry& entry = frame.node.entries[first->second];
    tree_.troubles.push_back({key.line, key.column, Reason::kConfigDuplicate, key.scalar,
                              fmt::format("key {} is repeated; the first is on line {}",
                                          Quoted(key.scalar), entry.key.line)});
    entry.value = std::move(value);
  }

  YamlTree& tree_;
  std::vector<Frame> open_;
  // Nodes by anchor; null: the node is still open.
  std::map<std::string, std::optional<Node>, std::less<>> anchors_;
  size_t spent_ = 0;
  Node document_;  // the start of the current document
  bool stopped_ = false;
  bool ended_ = false;  // after the first document
};

// The library's parser, with the place of its error.
class Parser {
 public:
  explicit Parser(const std::string& text) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!ready_) return;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // False: the text ends, or cannot be parsed.
  bool HandNextTo(TreeBuilder& builder) {
    yaml_event_t event;
    if (!ready_ || yaml_parser_parse(&parser_, &event) == 0) {
      builder.Stop(At(parser_.error == YAML_READER_ERROR ? parser_.mark : parser_.problem_mark),
                   Trouble());
      return false;
    }
    builder.Take(event);
    const bool ended = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    return !ended;
  }

 private:
  // "did not find expected ',' or ']' while parsing a flow sequence that begins on line 3"
  std::string Trouble() const {
    std::string text = "not valid YAML: ";
    text += parser_.problem == nullptr ? "it cannot be read" : parser_.problem;
    if (parser_.context == nullptr) return text;
    const std::string_view context = parser_.context;
    text += fmt::format(" {}", context);
    if (context == "while scanning an alias") return text.append(kAboutStars);
    const size_t begun = parser_.context_mark.line;
    if (begun < parser_.problem_mark.line)
      text += fmt::format(" that begins on line {}", begun + 1);
    return text;
  }

  yaml_parser_t parser_{};
  bool ready_ = false;
};

}  // namespace

YamlTree BuildTree(const std::string& text) {
  YamlTree tree;
  tree.root.line = tree.root.column = 1;
  TreeBuilder builder(tree);
  Parser parser(text);
  while (parser.HandNextTo(builder) && !builder.stopped()) {
  }
  return tree;
}

}  // namespace tessera::config
