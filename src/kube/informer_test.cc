// SPDX-License-Identifier: Apache-2.0
#include "kube/informer.h"

#include <algorithm>

#include "base/log.h"
#include "kube/fake_cluster_test.h"
#include "kube/objects/cluster_node.h"

namespace tessera::kube {
namespace {

using Lines = std::vector<std::string>;

// A node with an annotation.
struct MadeNode {
  std::string name{};
  std::string uid{};
  std::string note{};
  bool broken = false;  // unreadable
};

json::Value NodeObject(const MadeNode& node, const std::string& version) {
  json::Object metadata{{"name", node.name}, {"uid", node.uid}, {"resourceVersion", version}};
  const json::Value note = node.broken ? json::Value(7) : json::Value(node.note);
  metadata["annotations"] = json::Object{{"note", note}};
  return json::Object{{"metadata", std::move(metadata)}};
}

std::string NodePage(const std::string& version, const std::vector<MadeNode>& nodes,
                     const std::string& next = "") {
  json::Array items;
  for (const MadeNode& node : nodes) items.push_back(NodeObject(node, version));
  json::Object metadata{{"resourceVersion", version}};
  if (!next.empty()) metadata["continue"] = next;
  return fake::Answer(200, json::Write(json::Object{{"metadata", std::move(metadata)},
                                                    {"items", std::move(items)}}));
}

std::string NodeEvent(const std::string& type, const std::string& version, const MadeNode& node) {
  return fake::Chunk(
      json::Write(json::Object{{"type", type}, {"object", NodeObject(node, version)}}) + "\n");
}

class InformerTest : public ClusterTest {
 protected:
  using Nodes = Informer<ClusterNode>;

  InformerTest() {
    log::SetSink([this](std::string_view line) { logged_.emplace_back(line); });
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.target.find("watch=1") != std::string::npos) {
        stream_ = &peer;
        ++streams_;
        return peer.Send(watch_answer_);
      }
      peer.Send(lists_[std::min(listed_++, lists_.size() - 1)]);
    };
  }
  ~InformerTest() override { log::SetSink(nullptr); }

  void Start() {
    const ClusterNodeFields wanted{.annotation = [](std::string_view) { return true; }};
    const auto text = [](const ClusterNodePtr& node) -> std::string {
      if (node == nullptr) return "brief";
      return fmt::format("{} {} {}", node->name, node->uid, node->annotations.at("note"));
    };
    nodes_ = std::make_unique<Nodes>(
        loop_, client(),
        Nodes::Source{
            .path = "/api/v1/nodes",
            .form = ClusterNodeForm(wanted),
            .read = [wanted](const json::Value& node) { return ReadClusterNode(node, wanted); },
            .brief = brief_,
            .most = most_,
            .resync = resync_},
        Nodes::Handlers{
            .added = [=, this](const ClusterNodePtr& node) { Told("added " + text(node)); },
            .changed =
                [=, this](const ClusterNodePtr& before, const ClusterNodePtr& now) {
                  Told(fmt::format("changed {} -> {}", text(before), text(now)));
                },
            .removed =
                [=, this](const ClusterNodePtr& node, const std::string& uid) {
                  Told("removed " + text(node) + (node == nullptr ? " " + uid : ""));
                },
            .listed = [this] { Told("listed"); },
            .failed = [this](const Error& error) { Told("failed " + error.message); }});
  }
  void Told(std::string what) { told_.push_back(std::move(what)); }
  bool RunUntilTold(size_t count) {
    return RunUntil([&] { return told_.size() >= count; });
  }
  // True once listed and watched. Clears the calls recorded until then.
  bool Begin() {
    Start();
    if (!RunUntil([&] { return streams_ == 1 && nodes_->Synced(); })) return false;
    told_.clear();
    return true;
  }
  Lines Names() const {
    Lines names;
    nodes_->ForEach([&](const std::string& key, const ClusterNodePtr&) { names.push_back(key); });
    return names;
  }

  std::vector<std::string> lists_ = {NodePage("10", {{"a", "u1", "x"}, {"b", "u2", "y"}})};
  size_t listed_ = 0;
  std::string watch_answer_ = fake::ChunkedHead();
  fake::Peer* stream_ = nullptr;
  int streams_ = 0;
  size_t most_ = 1 << 20;
  Duration resync_{0};
  std::function<bool(const ClusterNode&)> brief_{};
  Lines told_;
  Lines logged_;
  std::unique_ptr<Nodes> nodes_;
};

TEST_F(InformerTest, ObjectsAreListedInPagesOfBoundedSizeThenFollowed) {
  limits_.page = 2;
  lists_ = {NodePage("10", {{"a", "u1", "x"}, {"b", "u2", "y"}}, "more"),
            NodePage("10", {{"c", "u3", "z"}})};
  Start();
  EXPECT_FALSE(nodes_->Synced());
  ASSERT_TRUE(RunUntil([&] { return streams_ == 1; }));
  EXPECT_TRUE(nodes_->Synced());

  stream_->Send(NodeEvent("ADDED", "11", {"d", "u4", "1"}) +
                NodeEvent("MODIFIED", "12", {"a", "u1", "2"}) +
                NodeEvent("DELETED", "13", {"b", "u2", "y"}));
  ASSERT_TRUE(RunUntilTold(7));

  EXPECT_EQ(told_, (Lines{"added a u1 x", "added b u2 y", "added c u3 z", "listed", "added d u4 1",
                          "changed a u1 x -> a u1 2", "removed b u2 y"}));
  EXPECT_EQ(Names(), (Lines{"a", "c", "d"}));
  EXPECT_EQ(nodes_->Find("a")->annotations.at("note"), "2");
  EXPECT_EQ(nodes_->Find("b"), nullptr);
  EXPECT_EQ(asked_[0].target, "/api/v1/nodes?limit=2");
  EXPECT_EQ(asked_[1].target, "/api/v1/nodes?limit=2&continue=more");
  EXPECT_EQ(logged_, Lines());
}

TEST_F(InformerTest, ABriefObjectIsKeptWithoutItsStateAndToldWheneverItComes) {
  brief_ = [](const ClusterNode& node) { return node.annotations.at("note") == "brief"; };
  lists_ = {NodePage("10", {{"a", "u1", "brief"}, {"b", "u2", "y"}})};
  Start();
  ASSERT_TRUE(RunUntil([&] { return streams_ == 1; }));
  const size_t before = nodes_->bytes();
  stream_->Send(NodeEvent("MODIFIED", "11", {"a", "u1", "brief"}) +
                NodeEvent("MODIFIED", "12", {"b", "u2", "brief"}));
  ASSERT_TRUE(RunUntilTold(5));
  EXPECT_LT(nodes_->bytes(), before);
  EXPECT_EQ(nodes_->Find("a"), nullptr);
  EXPECT_EQ(Names(), (Lines{"a", "b"}));

  lists_ = {NodePage("20", {{"b", "u2", "brief"}})};
  listed_ = 0;
  EXPECT_TRUE(nodes_->Refresh(Duration(1'000)));
  ASSERT_TRUE(RunUntilTold(8));
  EXPECT_EQ(told_, (Lines{"added a u1 brief", "added b u2 y", "listed",
                          "changed brief -> a u1 brief", "changed b u2 y -> b u2 brief",
                          "changed brief -> b u2 brief", "removed brief u1", "listed"}));
}

TEST_F(InformerTest, ABriefObjectIsToldWhileItsListIsRead) {
  brief_ = [](const ClusterNode& node) { return node.annotations.at("note") == "brief"; };
  limits_.page = 2;
  lists_ = {NodePage("10", {{"a", "u1", "brief"}, {"b", "u2", "brief"}}, "more"),
            NodePage("10", {{"c", "u3", "y"}}),
            NodePage("20", {{"a", "u9", "brief"}, {"b", "u2", "y"}}, "more"),
            Refusal(400, "BadRequest", "no such page")};
  ASSERT_TRUE(Begin());

  // A list that fails at its second page.
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(told_, (Lines{"removed brief u1", "added a u9 brief",
                          "failed list /api/v1/nodes: no such page (400 BadRequest)"}));
  EXPECT_EQ(Names(), (Lines{"a", "b", "c"}));

  told_.clear();
  lists_.push_back(NodePage("30", {{"a", "u9", "brief"}, {"b", "u2", "y"}}));
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(4));
  EXPECT_EQ(told_, (Lines{"changed brief -> a u9 brief", "removed c u3 y",
                          "changed brief -> b u2 y", "listed"}));
}

TEST_F(InformerTest, ABriefObjectTakesNoMoreRoomThanThereIs) {
  brief_ = [](const ClusterNode& node) { return node.annotations.at("note") == "brief"; };
  most_ = 1'000;
  std::vector<MadeNode> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back({fmt::format("n{}", i), "u", "brief"});
  lists_ = {NodePage("10", nodes)};
  ASSERT_TRUE(Begin());

  EXPECT_EQ(Names(), (Lines{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(nodes_->left_out(), 6U);
}

TEST_F(InformerTest, AnotherStateOfWhatIsNotKeptIsNoChange) {
  ASSERT_TRUE(Begin());
  const ClusterNodePtr before = nodes_->Find("a");

  stream_->Send(NodeEvent("MODIFIED", "11", {"a", "u1", "x"}) +
                NodeEvent("MODIFIED", "12", {"b", "u2", "2"}));
  ASSERT_TRUE(RunUntilTold(1));

  EXPECT_EQ(told_, Lines{"changed b u2 y -> b u2 2"});
  EXPECT_EQ(nodes_->Find("a"), before);
}

TEST_F(InformerTest, ABookmarkIsNoObjectAndTheStreamGoesOnFromThere) {
  ASSERT_TRUE(Begin());

  stream_->Send(fake::Chunk(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"40"}}})"
                            "\n") +
                fake::kLastChunk);
  ASSERT_TRUE(RunUntil([&] { return streams_ == 2; }));

  EXPECT_EQ(told_, Lines());
  EXPECT_EQ(nodes_->size(), 2U);
  EXPECT_NE(asked_.back().target.find("resourceVersion=40&"), std::string::npos);
}

TEST_F(InformerTest, WhereTheServerForgotWhatChangedMeanwhileIsToldByTheNextList) {
  lists_.push_back(NodePage("90", {{"b", "u2", "2"}, {"c", "u3", "z"}}));
  ASSERT_TRUE(Begin());

  stream_->Send(fake::Chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                            "\n"));
  ASSERT_TRUE(RunUntil([&] { return streams_ == 2; }));

  EXPECT_EQ(told_, (Lines{"removed a u1 x", "changed b u2 y -> b u2 2", "added c u3 z", "listed"}));
  EXPECT_EQ(Names(), (Lines{"b", "c"}));
}

TEST_F(InformerTest, AListThatBreaksOffChangesNothing) {
  limits_.page = 1;
  lists_.push_back(NodePage("90", {{"a", "u1", "2"}}, "more"));
  lists_.push_back(Refusal(400, "BadRequest", "no such page"));
  ASSERT_TRUE(Begin());

  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(1));

  EXPECT_EQ(told_, Lines{"failed list /api/v1/nodes: no such page (400 BadRequest)"});
  EXPECT_EQ(Names(), (Lines{"a", "b"}));
  EXPECT_EQ(nodes_->Find("a")->annotations.at("note"), "x");
}

TEST_F(InformerTest, AnObjectOfTheSameNameIsAnother) {
  lists_.push_back(NodePage("90", {{"a", "u8", "x"}, {"b", "u9", "y"}}));
  ASSERT_TRUE(Begin());

  stream_->Send(NodeEvent("MODIFIED", "11", {"a", "u8", "x"}));
  ASSERT_TRUE(RunUntilTold(2));
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(5));

  EXPECT_EQ(told_,
            (Lines{"removed a u1 x", "added a u8 x", "removed b u2 y", "added b u9 y", "listed"}));
}

TEST_F(InformerTest, AnObjectThatCannotBeReadCostsItselfOnlyAndOneLine) {
  lists_ = {NodePage("10", {{"a", "u1", "x"}, {"broken", "u2", "", true}}),
            NodePage("20", {{"a", "u1", "x"}, {"broken", "u2", "", true}})};
  ASSERT_TRUE(Begin());
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(1));

  EXPECT_EQ(told_, Lines{"listed"});
  EXPECT_EQ(Names(), Lines{"a"});
  EXPECT_EQ(nodes_->left_out(), 1U);
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_NE(
      logged_[0].find("/api/v1/nodes: node broken: metadata: annotations: note is not a string"),
      std::string::npos)
      << logged_[0];
}

TEST_F(InformerTest, OneThatBreaksStaysAsItWasUntilItIsGone) {
  const MadeNode broken{"a", "u1", "", true};
  lists_.push_back(NodePage("20", {broken, {"b", "u2", "2"}}));
  lists_.push_back(NodePage("30", {{"b", "u2", "2"}}));
  ASSERT_TRUE(Begin());

  stream_->Send(NodeEvent("MODIFIED", "11", broken) +
                NodeEvent("MODIFIED", "12", {"b", "u2", "1"}));
  ASSERT_TRUE(RunUntilTold(1));
  EXPECT_EQ(nodes_->Find("a")->annotations.at("note"), "x");
  EXPECT_EQ(nodes_->left_out(), 1U);
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(3));
  EXPECT_EQ(nodes_->Find("a")->annotations.at("note"), "x");
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(5));

  EXPECT_EQ(told_, (Lines{"changed b u2 y -> b u2 1", "changed b u2 1 -> b u2 2", "listed",
                          "removed a u1 x", "listed"}));
  EXPECT_EQ(nodes_->left_out(), 0U);
  EXPECT_EQ(logged_.size(), 1U);
}

TEST_F(InformerTest, OneThatCanBeReadLaterComesThen) {
  lists_ = {NodePage("10", {{"broken", "u2", "", true}})};
  ASSERT_TRUE(Begin());

  stream_->Send(NodeEvent("MODIFIED", "11", {"broken", "u2", "x"}));
  ASSERT_TRUE(RunUntilTold(1));

  EXPECT_EQ(told_, Lines{"added broken u2 x"});
  EXPECT_EQ(nodes_->left_out(), 0U);
}

TEST_F(InformerTest, WhereThereIsNoRoomTheOthersAreKeptAndTheRestIsCounted) {
  most_ = 40'000;
  std::vector<MadeNode> nodes;
  for (int i = 0; i < 10; ++i) {
    nodes.push_back({fmt::format("n{}", i), "u", std::string(9'000, 'x')});
  }
  nodes.push_back({"small", "u", "x"});
  lists_ = {NodePage("10", nodes)};
  ASSERT_TRUE(Begin());

  EXPECT_EQ(Names(), (Lines{"n0", "n1", "n2", "n3", "small"}));
  EXPECT_LE(nodes_->bytes(), most_);
  EXPECT_EQ(nodes_->left_out(), 6U);
  ASSERT_EQ(logged_.size(), 6U);
  EXPECT_NE(
      logged_[0].find("/api/v1/nodes: no room for n4: all objects together may have 40000 bytes"),
      std::string::npos)
      << logged_[0];

  // An object that grows beyond the limit keeps its last state.
  stream_->Send(NodeEvent("MODIFIED", "11", {"small", "u", std::string(9'000, 'x')}) +
                NodeEvent("DELETED", "12", nodes[0]));
  ASSERT_TRUE(RunUntilTold(1));
  EXPECT_EQ(nodes_->Find("small")->annotations.at("note"), "x");

  // The next list adds objects for which there is room now.
  nodes.erase(nodes.begin());
  lists_.push_back(NodePage("20", nodes));
  told_.clear();
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(2));
  EXPECT_EQ(Names(), (Lines{"n1", "n2", "n3", "n4", "small"}));
  EXPECT_EQ(nodes_->left_out(), 5U);
}

TEST_F(InformerTest, NewcomersOfAListPutNobodyOut) {
  most_ = 40'000;
  lists_ = {NodePage("10", {{"z", "u", std::string(9'000, 'x')}})};
  ASSERT_TRUE(Begin());

  std::vector<MadeNode> nodes;
  for (int i = 0; i < 10; ++i) {
    nodes.push_back({fmt::format("a{}", i), "u", std::string(9'000, 'x')});
  }
  nodes.push_back({"z", "u", std::string(9'000, 'x')});
  lists_.push_back(NodePage("20", nodes));
  told_.clear();
  ASSERT_TRUE(nodes_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(4));

  EXPECT_EQ(Names(), (Lines{"a0", "a1", "a2", "z"}));
  EXPECT_LE(nodes_->bytes(), most_);
}

TEST_F(InformerTest, WhoMayNotWatchHasListsAlone) {
  watch_answer_ = Refusal(403, "Forbidden", "cannot watch nodes");
  lists_.push_back(NodePage("20", {{"a", "u1", "2"}}));
  ASSERT_TRUE(Begin());

  ASSERT_TRUE(RunUntilTold(3));

  EXPECT_EQ(told_, (Lines{"removed b u2 y", "changed a u1 x -> a u1 2", "listed"}));
}

TEST_F(InformerTest, AfterATimeTheListIsReadAnew) {
  resync_ = Duration(10);
  lists_.push_back(NodePage("20", {{"a", "u1", "x"}}));
  Start();

  ASSERT_TRUE(RunUntilTold(6));

  told_.resize(6);
  EXPECT_EQ(told_, (Lines{"added a u1 x", "added b u2 y", "listed", "removed b u2 y", "listed",
                          "listed"}));
}

}  // namespace
}  // namespace tessera::kube
