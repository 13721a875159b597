// SPDX-License-Identifier: Apache-2.0
// Faults of the configuration file while the agent runs.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

class ConfigFaultsTest : public AgentTest {
 protected:
  ConfigFaultsTest() {
    StartAll(kFour);
    Expect(kNpu, 4, 4);
    pod_ = Run("a", {{kNpu, 1}});
    EXPECT_TRUE(pod_.admitted) << pod_.message;
  }

  std::string file() const { return dir_ + "/tessera.yaml"; }

  // Expects one log line about the file, and no change but the counter. The agent then reads the
  // mended file.
  void ExpectRefusal(const std::string& reason, const std::string& place, const std::string& error,
                     const std::string& advice) {
    EXPECT_TRUE(AwaitLog("ERROR the new configuration is not used, the former one stays"));
    EXPECT_TRUE(AwaitLog("ERROR configuration error reason=" + reason + " file=" + file() + place +
                         " error=" + error + " closest=\"\" advice=\"" + advice + "\"\n"));
    EXPECT_TRUE(AwaitMetric(R"(tessera_config_reloads_total{result="failed"})", 1));
    EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod_.grants[0].ids);
    EXPECT_TRUE(Run("b", {{kNpu, 1}}).admitted);
    EXPECT_EQ(Registrations(kNpu), 1);

    if (!std::filesystem::is_regular_file(file())) std::filesystem::remove_all(file());
    WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 6}}\n"));
    Expect(kNpu, 6, 6);
    const std::string log = Log();
    const std::string line = "configuration error";
    EXPECT_EQ(log.find(line, log.find(line) + 1), std::string::npos) << "told twice";
  }

  kubelet::Admission pod_;
};

constexpr char kWholeFile[] = " line=0 column=0";
constexpr char kSyntax[] = "mend the YAML at the place named";
constexpr char kUnreadable[] = "check the path, and that the agent's user may read the file";

TEST_F(ConfigFaultsTest, ADeletedFileLeavesTheFormerConfiguration) {
  ASSERT_TRUE(os::RemoveFile(file()));

  ExpectRefusal("config-unreadable", kWholeFile, "\"there is no such file\"", kUnreadable);
}

TEST_F(ConfigFaultsTest, ATruncatedFileLeavesTheFormerConfiguration) {
  std::ofstream(file(), std::ios::trunc).close();

  ExpectRefusal("config-version", " line=1 column=1", "\"the file needs the key 'version'\"",
                "write 'version: tessera/v1'");
}

TEST_F(ConfigFaultsTest, AFileCutInTheMiddleLeavesTheFormerConfiguration) {
  const std::string text = Config(kFour);
  std::ofstream(file(), std::ios::trunc) << text.substr(0, text.find("count: 4"));

  ExpectRefusal("config-syntax", " line=10 column=1",
                "\"not valid YAML: did not find expected node content while parsing a flow node\"",
                kSyntax);
}

TEST_F(ConfigFaultsTest, ADirectoryInItsPlaceLeavesTheFormerConfiguration) {
  ASSERT_TRUE(os::RemoveFile(file()));
  ASSERT_TRUE(os::MakeDirectories(file()));

  ExpectRefusal("config-unreadable", kWholeFile,
                "\"cannot be read: " + file() + " is not a regular file\"", kUnreadable);
}

TEST_F(ConfigFaultsTest, APipeInItsPlaceLeavesTheFormerConfiguration) {
  ASSERT_TRUE(os::RemoveFile(file()));
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);

  ExpectRefusal("config-unreadable", kWholeFile,
                "\"cannot be read: " + file() + " is not a regular file\"", kUnreadable);
}

TEST_F(ConfigFaultsTest, TenMegabytesOfBracesLeaveTheFormerConfiguration) {
  WriteConfig(std::string(10'000'000, '{'));

  ExpectRefusal("config-syntax", kWholeFile, "\"more than 1048576 bytes, the limit of a file\"",
                kSyntax);
}

TEST_F(ConfigFaultsTest, AMegabyteOfBracesLeavesTheFormerConfiguration) {
  WriteConfig(std::string(1'000'000, '{'));

  ExpectRefusal("config-syntax", " line=1 column=2", "\"a key must be text, not a list or a map\"",
                kSyntax);
}

TEST_F(ConfigFaultsTest, ABombOfAliasesLeavesTheFormerConfiguration) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int j = 0; j < 9; ++j) bomb += fmt::format("*a{},", i - 1);
    bomb += "]\n";
  }
  WriteConfig(bomb);

  ExpectRefusal("config-syntax", " line=5 column=5",
                "\"more than 100000 values once aliases are resolved\"", kSyntax);
}

TEST_F(ConfigFaultsTest, BytesThatAreNoTextLeaveTheFormerConfiguration) {
  WriteConfig("version: tessera/v1\nresources: gr\xfc\xdf\n");

  ExpectRefusal("config-syntax", kWholeFile, "\"byte 34 (on line 2) is not text in UTF-8\"",
                kSyntax);
}

class ChartValuesTest : public AgentTest {};

TEST_F(ChartValuesTest, ValuesWithoutEffectBesideTheConfigurationAreOneLogLine) {
  ASSERT_TRUE(os::ReplaceFile(dir_ + "/ignored-values",
                              "devicePlugin.pluginPath: kubelet has one\ngfd.typo: unknown\n",
                              0644));
  StartAll(kFour);
  EXPECT_TRUE(
      AwaitLog("WARN values of the chart have no effect count=2 values="
               "\"devicePlugin.pluginPath: kubelet has one; gfd.typo: unknown\"\n"));
  Expect(kNpu, 4, 4);
}

}  // namespace
}  // namespace tessera
