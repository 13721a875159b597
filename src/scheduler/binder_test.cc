// SPDX-License-Identifier: Apache-2.0
#include "scheduler/binder.h"

#include "api/hami_cluster.h"
#include "base/captured_log_test.h"
#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::scheduler {
namespace {

using Words = std::vector<std::string>;

// Node n1 has one GPU of 8,000 MiB. Each pod requests all of it.
class BinderTest : public HamiClusterTest {
 protected:
  BinderTest() : cluster_({hami::ServedVendor()}, {}) {
    cluster_.PutNode(Node("0.1.0 late-bound"));
    handler_ = [this, others = handler_](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.method != "POST") return others(asked, peer);
      if (answers_.empty()) return TakeBinding(asked, peer);
      const auto answer = answers_.front();
      answers_.erase(answers_.begin());
      answer(asked, peer);
    };
  }
  static kube::ClusterNode Node(const std::string& mark) {
    const hami::RegisteredDevice gpu{.id = "GPU-a",
                                     .count = 10,
                                     .devmem = 8000,
                                     .devcore = 100,
                                     .type = "NVIDIA A100",
                                     .health = true};
    return {.name = "n1",
            .uid = "n1",
            .annotations = {
                {std::string(hami::kNvidia.node_register), hami::EncodeRegister(std::vector{gpu})},
                {"tessera.dev/agent", mark}}};
  }
  // A waiting pod, as the API server reports it.
  kube::Pod Waiting(const std::string& name) {
    Object& pod = Pod(name);
    pod.uid = "uid-" + name;
    return Seen(name);
  }
  bool FitsOn(const kube::Pod& pod) {
    return !cluster_.Filter({.pod = pod, .nodes = {"n1"}}, clock_.Now()).nodes.empty();
  }
  // The outcome of a bind: "bound", or the error.
  std::string Bind(const kube::Pod& pod) {
    std::string ended;
    binder_->Bind({pod.pod_namespace, pod.name, pod.uid, "n1"},
                  [&](const Status& bound) { ended = bound ? "bound" : bound.error().message; });
    EXPECT_TRUE(RunUntil([&] { return !ended.empty(); }));
    return ended;
  }
  void TakeBinding(const fake::Asked& asked, fake::Peer& peer) {
    Store(asked);
    peer.Send(fake::Answer(201, R"({"kind":"Status","status":"Success"})"));
  }
  // Merges the Binding into the pod, as the API server does.
  void Store(const fake::Asked& asked) {
    const json::Value binding = json::Parse(asked.body).value();
    Object& pod = objects_.at(asked.target.substr(0, asked.target.rfind('/')));
    pod.node = json::GetString(*json::GetObject(binding.as_object(), "target"), "name").value();
    const json::Object& metadata = *json::GetObject(binding.as_object(), "metadata");
    for (const auto& item : *json::GetObject(metadata, "annotations")) {
      pod.annotations[item.key()] = item.value().get_string();
    }
    ++bindings_;
  }
  void AnswerBindings(const std::string& answer, size_t times = 1) {
    for (size_t i = 0; i < times; ++i) {
      answers_.emplace_back([answer](const fake::Asked&, fake::Peer& peer) { peer.Send(answer); });
    }
  }

  FakeClock clock_;
  CapturedLog log_;
  Cluster cluster_;
  std::vector<Handler> answers_;  // answers to the next bindings
  int bindings_ = 0;              // stored bindings
  Status may_bind_;
  NodeLocks locks_{loop_, clock_, client()};
  std::unique_ptr<Binder> binder_ =
      std::make_unique<Binder>(clock_, client(), cluster_, locks_, [this] { return may_bind_; });
};

TEST_F(BinderTest, AOneWriteBindsAPodOnANodeWhoseGrantsAreLateBound) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));

  EXPECT_EQ(Bind(pod), "bound");

  EXPECT_EQ(Targets(), Words{"POST /api/v1/namespaces/default/pods/a/binding"});
  EXPECT_EQ(Pod("a").annotations.at("hami.io/vgpu-devices-allocated"), "GPU-a,NVIDIA,8000,0:;");
}

TEST_F(BinderTest, ANodeOfAnotherPluginIsLockedJustBeforeAndStaysSo) {
  cluster_.PutNode(Node(""));
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));

  EXPECT_EQ(Bind(pod), "bound");

  EXPECT_EQ(Targets(), (Words{"GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1",
                              "POST /api/v1/namespaces/default/pods/a/binding"}));
  EXPECT_TRUE(Locked());
}

TEST_F(BinderTest, APodThatIsNotBoundGivesTheLockAndItsRoomBack) {
  cluster_.PutNode(Node(""));
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  AnswerBindings(kube::Refusal(403, "Forbidden", "not allowed"));

  EXPECT_NE(Bind(pod).find("not allowed"), std::string::npos);

  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
  EXPECT_TRUE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, ABindingWhoseAnswerWasLostIsFoundInThePod) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([this](const fake::Asked& asked, fake::Peer& peer) {
    Store(asked);
    peer.HangUp();
  });

  EXPECT_EQ(Bind(pod), "bound");

  EXPECT_EQ(bindings_, 1);
  EXPECT_FALSE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, ABindingThatWasLostOnTheWayIsSentAgain) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([](const fake::Asked&, fake::Peer& peer) { peer.HangUp(); });

  EXPECT_EQ(Bind(pod), "bound");

  EXPECT_EQ(bindings_, 1);
}

TEST_F(BinderTest, AnOutcomeThatStaysUnknownKeepsTheRoomAndTheNode) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  AnswerBindings(kube::Refusal(504, "Timeout", "etcd takes long"), 3);

  EXPECT_NE(Bind(pod).find("etcd takes long"), std::string::npos);

  EXPECT_FALSE(FitsOn(Waiting("b")));
  // A repeated filter call returns the same node, and no other pod gets the room.
  EXPECT_TRUE(FitsOn(pod));
  EXPECT_EQ(cluster_.Filter({.pod = pod, .nodes = {"n2"}}, clock_.Now()).error,
            "the pod may be bound to node n1, which is not among the candidates");
  EXPECT_EQ(Bind(pod), "bound");
}

TEST_F(BinderTest, AConflictOfAPodThatIsBoundAsWeSaidIsASuccess) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([this](const fake::Asked& asked, fake::Peer& peer) {
    Store(asked);
    peer.Send(kube::Refusal(409, "Conflict", "pod a is already assigned to node n1"));
  });

  EXPECT_EQ(Bind(pod), "bound");
}

TEST_F(BinderTest, WhatSomebodyElseBoundCountsAsItIsBound) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([this](const fake::Asked&, fake::Peer& peer) {
    Placed("a", "GPU-a,NVIDIA,100,0:;");
    peer.Send(kube::Refusal(409, "Conflict", "pod a is already assigned to node n1"));
  });

  EXPECT_EQ(Bind(pod), "pod default/a is bound to node n1 by another scheduler");

  EXPECT_FALSE(FitsOn(Waiting("b")));  // the GPU is held
  Pod("c").asks["nvidia.com/gpumem"] = 7900;
  EXPECT_TRUE(FitsOn(Waiting("c")));
}

TEST_F(BinderTest, APodThatMayNotBeBoundGivesItsRoomBack) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  AnswerBindings(kube::Refusal(409, "Conflict", "pod a is being deleted, cannot be assigned"));

  EXPECT_NE(Bind(pod).find("is being deleted"), std::string::npos);

  EXPECT_TRUE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, ARefusalKeepsTheRoomWhereABindingBeforeMayStillBeTaken) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  AnswerBindings(kube::Refusal(504, "Timeout", "too slow"));
  AnswerBindings(kube::Refusal(400, "BadRequest", "not now"));
  EXPECT_EQ(Bind(pod),
            "create /api/v1/namespaces/default/pods/a/binding: not now (400 BadRequest)");
  EXPECT_FALSE(FitsOn(Waiting("b")));
  // A second call does not free it either.
  AnswerBindings(kube::Refusal(400, "BadRequest", "not now"));
  EXPECT_EQ(Bind(pod),
            "create /api/v1/namespaces/default/pods/a/binding: not now (400 BadRequest)");
  EXPECT_FALSE(FitsOn(Waiting("c")));

  cluster_.RemovePod(pod.uid);
  EXPECT_TRUE(FitsOn(Waiting("d")));
}

TEST_F(BinderTest, WhoDoesNotLeadAnyMoreWhenThePodHasTheLockDoesNotBindIt) {
  cluster_.PutNode(Node(""));
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  before_patch_ = [this] { may_bind_ = Fail(Reason::kUnavailable, "another leads"); };

  EXPECT_EQ(Bind(pod), "another leads");

  EXPECT_EQ(bindings_, 0);
  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
  EXPECT_TRUE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, WhoDoesNotLeadAnyMoreDoesNotSendABindingAgainAndKeepsItsRoom) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([this](const fake::Asked&, fake::Peer& peer) {
    may_bind_ = Fail(Reason::kUnavailable, "another leads");
    peer.HangUp();
  });

  EXPECT_EQ(Bind(pod), "another leads");

  EXPECT_EQ(bindings_, 0);
  EXPECT_FALSE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, APodOfTheSameNameIsAnotherOne) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  answers_.emplace_back([this](const fake::Asked&, fake::Peer& peer) {
    Pod("a").uid = "uid-new";
    peer.Send(kube::Refusal(409, "Conflict", "the UID in the precondition is another"));
  });

  EXPECT_EQ(Bind(pod), "pod default/a was replaced by a new pod of the same name");

  EXPECT_TRUE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, APodThatIsGoneGivesItsRoomBack) {
  const kube::Pod pod = Waiting("a");
  ASSERT_TRUE(FitsOn(pod));
  AnswerBindings(kube::Refusal(404, "NotFound", "pods \"a\" not found"));

  EXPECT_NE(Bind(pod).find("not found"), std::string::npos);

  EXPECT_TRUE(FitsOn(Waiting("b")));
}

TEST_F(BinderTest, APodThatNoWatchHasToldOfIsRead) {
  EXPECT_EQ(Bind(Waiting("a")), "bound");
  EXPECT_EQ(Bind({.uid = "uid-x", .pod_namespace = "default", .name = "a"}),
            "pod default/a does not exist or no longer waits for a node");
}

}  // namespace
}  // namespace tessera::scheduler
