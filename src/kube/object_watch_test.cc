// SPDX-License-Identifier: Apache-2.0
#include "kube/object_watch.h"

#include "kube/fake_cluster_test.h"
#include "kube/wire.h"

namespace tessera::kube {
namespace {

constexpr char kNobody[] = R"({"metadata":{"resourceVersion":"10"},"items":[]})";

std::string OneOf(const std::string& version) {
  return fmt::format(R"({{"metadata":{{"name":"tls","resourceVersion":"{}"}}}})", version);
}

std::string ListOfOne(const std::string& version) {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version,
                     OneOf(version));
}

std::string EventOfOne(const std::string& type, const std::string& version) {
  return fake::Chunk(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, OneOf(version)));
}

class ObjectWatchTest : public ClusterTest {
 protected:
  ObjectWatchTest() {
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.target.find("watch=1") != std::string::npos) {
        stream_ = &peer;
        return peer.Send(fake::ChunkedHead());
      }
      peer.Send(fake::Answer(200, list_));
    };
  }

  void Follow(const std::string& name) {
    watch_ = std::make_unique<ObjectWatch>(
        loop_, client(), "/api/v1/namespaces/team/secrets", name, Few(),
        [this](const json::Value* object) {
          told_.push_back(object == nullptr ? "none" : VersionOf(*object));
        });
  }
  bool RunUntilTold(size_t count) {
    return RunUntil([&] { return told_.size() >= count && stream_ != nullptr; });
  }

  std::string list_ = ListOfOne("7");
  fake::Peer* stream_ = nullptr;
  std::vector<std::string> told_;
  std::unique_ptr<ObjectWatch> watch_;
};

TEST_F(ObjectWatchTest, ItIsToldWhetherTheObjectIsThereAndEachChangeOfThat) {
  list_ = kNobody;
  Follow("tls");
  ASSERT_TRUE(RunUntilTold(1));

  stream_->Send(EventOfOne("ADDED", "11") + EventOfOne("MODIFIED", "12") +
                EventOfOne("DELETED", "13"));
  ASSERT_TRUE(RunUntilTold(4));

  EXPECT_EQ(told_, (std::vector<std::string>{"none", "11", "12", "none"}));
}

TEST_F(ObjectWatchTest, TheServerIsAskedForThisOneAlone) {
  Follow("a/b");
  ASSERT_TRUE(RunUntilTold(1));

  EXPECT_EQ(asked_[0].target,
            "/api/v1/namespaces/team/secrets?fieldSelector=metadata.name%3Da%2Fb&limit=100");
  EXPECT_TRUE(asked_[1].target.starts_with(
      "/api/v1/namespaces/team/secrets?fieldSelector=metadata.name%3Da%2Fb&watch=1"))
      << asked_[1].target;
}

TEST_F(ObjectWatchTest, AnotherListWithTheSameIsNoChangeAndOneWithoutItIs) {
  Follow("tls");
  ASSERT_TRUE(RunUntilTold(1));

  ASSERT_TRUE(watch_->Refresh(kPatience));
  ASSERT_TRUE(RunUntil([&] { return asked_.size() == 4; }));
  list_ = kNobody;
  ASSERT_TRUE(watch_->Refresh(kPatience));
  ASSERT_TRUE(RunUntilTold(2));

  EXPECT_EQ(told_, (std::vector<std::string>{"7", "none"}));
}

}  // namespace
}  // namespace tessera::kube
