// SPDX-License-Identifier: Apache-2.0
// The shipped binary and an API server over TLS. The code for TLS is in a file next to the binary.
#include <csignal>
#include <filesystem>
#include <thread>

#include "agent_fixture.h"
#include "api/certificates.h"
#include "api/kubeconfig.h"
#include "api/server.h"
#include "os/loop.h"

namespace tessera {
namespace {

class ApiServerTest : public AgentTest {
 protected:
  ApiServerTest() {
    std::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~ApiServerTest() override {
    loop_.Stop();
    thread_.join();
  }

  // The part of the configuration that names the API server.
  std::string Access() const {
    const auto file = fake::WriteKubeconfig(dir_, server_.port(), authority_.certificate);
    EXPECT_TRUE(file);
    return fmt::format("api: {{kubeconfig: {}, nodeName: n1, condition: \"off\"}}\n",
                       file.value_or(""));
  }
  // A copy of the binary in a directory without any other file.
  std::string Alone() const {
    const std::string alone = dir_ + "/alone";
    const std::string file = alone + "/tessera";
    std::error_code trouble;
    std::filesystem::create_directory(alone);
    std::filesystem::create_hard_link(Binary(), file, trouble);
    if (trouble) std::filesystem::copy_file(Binary(), file);  // on another disk
    return file;
  }
  std::vector<std::string> Told() {
    std::lock_guard lock(told_mutex_);
    return told_;
  }

 private:
  void Serve(const fake::Asked& asked, fake::Peer& peer) {
    peer.Send(fake::Answer(asked.method == "POST" ? 201 : 200, asked.body));
    std::lock_guard lock(told_mutex_);
    told_.push_back(asked.method + " " + asked.target);
  }

  const fake::Certificate authority_ = fake::MakeAuthority("kubernetes");
  const fake::Certificate certificate_ = fake::Issue(authority_, {.names = "IP:127.0.0.1"});
  std::mutex told_mutex_;
  std::vector<std::string> told_;  // under told_mutex_
  os::Loop loop_;
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Serve(asked, peer); },
                       {.certificate = certificate_.certificate, .key = certificate_.key}};
  std::thread thread_;
};

TEST_F(ApiServerTest, ADeviceThatFailsIsToldOverTls) {
  StartAll(kFour, Access());
  Expect(kNpu, 4, 4);

  Fault("fail", "2", "on fire");

  ASSERT_TRUE(Await([&] { return !Told().empty(); }));
  EXPECT_EQ(Told()[0], "POST /api/v1/namespaces/default/events");
  agent_.Signal(SIGTERM);
  EXPECT_EQ(agent_.Wait(), 0);  // a sanitizer looks for leaks at this end
}

TEST_F(ApiServerTest, WithoutTheFileOfTlsKubeletIsServedAndTheLogSaysWhatIsMissing) {
  WriteConfig(Config(kFour, Access()));
  StartKubelet();
  const std::string binary = Alone();
  auto started = os::Process::Start({binary, "agent", "--config", dir_ + "/tessera.yaml"},
                                    dir_ + "/agent.log");
  ASSERT_TRUE(started);
  agent_ = *std::move(started);
  Expect(kNpu, 4, 4);

  Fault("fail", "2", "on fire");

  EXPECT_TRUE(AwaitLog(fmt::format(
      "TLS needs libtessera-tls.so, which is missing (looked for {0}/alone/libtessera-tls.so, "
      "{0}/lib/tessera/libtessera-tls.so): install the program and this file from one build",
      dir_)));
  Expect(kNpu, 4, 3);
  EXPECT_TRUE(Run("pod", {{kNpu, 2}}).admitted);
  EXPECT_EQ(Told(), std::vector<std::string>());
}

}  // namespace
}  // namespace tessera
