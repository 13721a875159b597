// SPDX-License-Identifier: Apache-2.0
#include "monitor/service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "api/server.h"
#include "http/blocking.h"
#include "http/metrics.h"
#include "monitor/fake_sampler_test.h"
#include "os/files.h"
#include "os/waiting_test.h"
#include "region/region_test.h"

namespace tessera::monitor {
namespace {

using region::kGpu;
using region::kMib;

constexpr char kPage[] = R"({"node":"worker-1","released":false,"directories":["/vgpu"],
    "containers":[{"namespace":"team","pod":"train-0","uid":"uid-1","container":"main",
    "resource":"nvidia.com/gpu","division":"vgpu","grant":"0123","directory":"/vgpu/containers/0123",
    "devices":[{"device":"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42","memoryBytes":4294967296,
    "cores":30}]}]})";

// A monitor beside an agent that answers `page_`; 503 while it is empty.
class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    agent_ =
        http::Server::ListenUnix(agents_loop_, directory_ + "/agent.sock", [this](const auto&) {
          const std::lock_guard lock(mutex_);
          if (page_.empty()) return http::Failure({Reason::kUnavailable, "not now"});
          return http::Response{.body = page_};
        }).value();
    agents_thread_ = std::thread([this] { agents_loop_.Run(); });
    Options options{.address = "127.0.0.1:0",
                    .control_socket = directory_ + "/agent.sock",
                    .node = "its-host",
                    .root = os::Root(directory_),
                    .directories = {"/vgpu"},
                    .dcgm = true,
                    .samplers = {sampler_}};
    service_ = Service::Start(loop_, clock_, std::move(options)).value();
  }
  ~ServiceTest() override {
    sampler_->Hang("");
    service_.reset();
    agents_loop_.Stop();
    agents_thread_.join();
    agent_.reset();
    (void)os::RemoveTree(directory_);
  }

  void Answer(std::string page) {
    const std::lock_guard lock(mutex_);
    page_ = std::move(page);
  }
  void Write(const std::string& path, const std::string& bytes) {
    const std::string file = directory_ + path;
    ASSERT_TRUE(os::MakeDirectories(file.substr(0, file.rfind('/')), 0755));
    ASSERT_TRUE(os::ReplaceFile(file, bytes, 0644));
  }
  // A scrape as Prometheus makes it.
  http::Response Get(const std::string& path) {
    const std::string address = "127.0.0.1:" + std::to_string(service_->port());
    auto answer = std::async(std::launch::async, [&] {
      auto response =
          http::CallTcp(address, {.path = path, .query = {}, .body = ""}, Duration(20'000));
      loop_.Post([] {});
      return response;
    });
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
      return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }));
    return answer.get().value();
  }
  // Lets time pass until the metrics have the text. Each second passes slowly: readings on a busy
  // machine are not late.
  void Await(const std::string& text) {
    const auto has_text = [&] {
      service_->Tick();
      return service_->Metrics().find(text) != std::string::npos;
    };
    for (int second = 0; second < 400; ++second) {
      if (fake::RunUntil(loop_, Duration(50), has_text)) return;
      clock_.Advance(Duration(1'000));
    }
    ADD_FAILURE() << text << "\n" << service_->Metrics();
  }

  // Lets time pass until the gauge is at least so many seconds.
  void AwaitAge(const std::string& gauge, double seconds) {
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
      clock_.Advance(Duration(1'000));
      service_->Tick();
      const std::string page = service_->Metrics();
      const size_t at = page.find("\n" + gauge + " ");
      return at != std::string::npos &&
             std::strtod(page.c_str() + at + gauge.size() + 2, nullptr) >= seconds;
    })) << service_->Metrics();
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "monitor");
  os::Loop loop_;
  FakeClock clock_;
  std::mutex mutex_;
  std::string page_ = kPage;
  os::Loop agents_loop_;
  std::unique_ptr<http::Server> agent_;
  std::thread agents_thread_;
  const std::shared_ptr<FakeSampler> sampler_ = std::make_shared<FakeSampler>();
  std::unique_ptr<Service> service_;
  region::TestRegion region_{{{kGpu, 4096 * kMib, 30}}};
};

const std::string kOwn =
    R"({namespace="team",pod="train-0",uid="uid-1",container="main",resource="nvidia.com/gpu")";
const std::string kUsed =
    "tessera_container_memory_used_bytes" + kOwn + R"(,device=")" + kGpu + "\"} ";

TEST_F(ServiceTest, AContainersUseIsOnThePageFromItsGrantOn) {
  Await(kUsed + "0\n");
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write("/vgpu/containers/0123/0123.cache", region_.Bytes());
  Await(kUsed + "629145600\n");

  const http::Response response = Get("/metrics");
  EXPECT_EQ(response.content_type, http::kMetricsContentType);
  EXPECT_NE(response.body.find(kUsed + "629145600\n"), std::string::npos);
}

TEST_F(ServiceTest, WithoutTheAgentContainersKeepTheirNames) {
  Await(kUsed);
  Answer("");
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write("/vgpu/containers/0123/0123.cache", region_.Bytes());
  AwaitAge("tessera_monitor_grants_age_seconds", 60);
  Await(kUsed + "629145600\n");
}

TEST_F(ServiceTest, HamisContainersHaveTheNamesThatTheAgentKnowsElseTheirUid) {
  const auto used = [](const std::string& names) {
    return "hami_vgpu_memory_used_bytes{" + names +
           R"(,container="trainer",vdevice_index="0",device_uuid=")" + kGpu + "\"";
  };
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write("/vgpu/containers/uid-2_trainer/5f.cache", region_.HamiBytes());
  Await(used(R"(namespace="",pod="uid-2")"));

  Answer(R"({"pods":{"uid-2":"team/train-7"},"directories":["/vgpu"],"containers":[]})");
  Await(used(R"(namespace="team",pod="train-7")"));
}

TEST_F(ServiceTest, AContainerWhoseDirectoryDoesNotAnswerCostsNoOtherASeries) {
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write("/vgpu/containers/uid-1_app/5f.cache", region_.HamiBytes());
  Write("/vgpu/containers/uid-2_app/5f.cache", region_.HamiBytes());
  std::optional<os::HeldFile> held(std::in_place,
                                   directory_ + "/vgpu/containers/uid-1_app/5f.cache");
  if (!held->is_held()) GTEST_SKIP() << "this user may not let a write wait";
  const os::WaitingCall removal(
      [this] { (void)os::RemoveFile(directory_ + "/vgpu/containers/uid-1_app/5f.cache"); }, 'D');

  Await(R"(hami_vgpu_memory_used_bytes{namespace="",pod="uid-2",container="app")");
  Await("tessera_monitor_unreadable_regions{reason=\"timed-out\"} 1\n");
  held.reset();
}

TEST_F(ServiceTest, EachTimeThatARegionBecomesUnreadableCounts) {
  const std::string total = "tessera_monitor_unreadable_regions_total{reason=\"bad-region\"} ";
  const std::string file = "/vgpu/containers/0123/0123.cache";
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write(file, region_.Bytes());
  Await(kUsed + "629145600\n");
  EXPECT_EQ(service_->Metrics().find("tessera_monitor_unreadable_regions"), std::string::npos);

  Write(file, "of another layout");
  Await(total + "1\n");
  // The next reading finds the same.
  Write("/vgpu/containers/uid-2_app/5f.cache", region_.HamiBytes());
  Await(R"(hami_vgpu_memory_used_bytes{namespace="",pod="uid-2",container="app")");
  Await(total + "1\n");

  Write(file, region_.Bytes());
  Await(kUsed + "629145600\n");
  Write(file, "of another layout");
  Await(total + "2\n");
  EXPECT_EQ(service_->Metrics().find(kUsed), std::string::npos);
}

TEST_F(ServiceTest, ADeviceThatHangsCostsNoContainerASeries) {
  sampler_->Have({{.uuid = kGpu, .index = 0, .model = "NVIDIA H200"}});
  Await("hami_host_gpu_memory_used_bytes");
  sampler_->Hang(kGpu);
  AwaitAge(std::string(R"(tessera_device_sample_age_seconds{device=")") + kGpu + "\"}", 30);
  Await("hami_host_gpu_memory_used_bytes");
  Await(kUsed);
}

TEST_F(ServiceTest, WhileTheAgentIsReleasedTheLibraryIsClosed) {
  sampler_->Have({{.uuid = kGpu}});
  Await("tessera_device_sample_age_seconds");
  Answer(R"({"released":true,"containers":[]})");
  EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
    clock_.Advance(Duration(1'000));
    service_->Tick();
    return sampler_->released();
  }));
}

TEST_F(ServiceTest, OtherPagesAreOfDcgmsNamesAndOfItsHealth) {
  sampler_->Have({{.uuid = kGpu}});
  Await("tessera_device_sample_age_seconds");
  EXPECT_NE(Get("/dcgm/metrics").body.find("DCGM_FI_DEV_FB_USED{gpu=\"0\""), std::string::npos);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
}

}  // namespace
}  // namespace tessera::monitor
