// SPDX-License-Identifier: Apache-2.0
#include "http/tls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "api/certificates.h"
#include "os/files.h"
#include "os/process.h"
#include "version.h"

namespace tessera::http {
namespace {

constexpr char kAdvice[] = "install the program and this file from one build";

// Errors of the TLS file. Remote's tests connect by it.
class TlsTest : public testing::Test {
 protected:
  ~TlsTest() override { (void)os::RemoveTree(directory_); }

  // The path of a file in the build tree.
  static std::string Beside(const std::string& name) {
    const std::string program = os::OwnPath();
    return program.substr(0, program.rfind('/') + 1) + name;
  }
  std::string InDirectory(const std::string& name) const { return directory_ + "/" + name; }
  static void ExpectError(const Result<Tls>& made, const Error& expected) {
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error(), expected);
  }

  const std::string directory_ = *os::MakeTemporaryDirectory("/tmp/tessera-tls-");
  const Endpoint endpoint_{.host = "127.0.0.1", .ca = fake::MakeAuthority("one").certificate};
};

TEST_F(TlsTest, ItsFileIsBesideTheProgramOrWhereItIsInstalledWithIt) {
  EXPECT_EQ(Tls::PlacesFor("/usr/bin/tessera"),
            (std::vector<std::string>{"/usr/bin/libtessera-tls.so",
                                      "/usr/lib/tessera/libtessera-tls.so"}));
}

TEST_F(TlsTest, AProgramThatWasReplacedMeanwhileLooksAtTheSamePlaces) {
  EXPECT_EQ(Tls::PlacesFor("/usr/bin/tessera (deleted)"), Tls::PlacesFor("/usr/bin/tessera"));
}

TEST_F(TlsTest, WithoutItsFileItIsSaidWhereThatWasLookedForAndWhatToDo) {
  const std::string here = InDirectory("a.so");
  const std::string there = InDirectory("b.so");

  ExpectError(Tls::Make(endpoint_, {here, there}),
              {Reason::kNotFound,
               fmt::format("TLS needs libtessera-tls.so, which is missing (looked for {}, {}): {}",
                           here, there, kAdvice)});
}

TEST_F(TlsTest, AFileThatComesLaterIsFound) {
  const std::vector<std::string> places = {InDirectory("a.so"), InDirectory("b.so")};
  ASSERT_FALSE(Tls::Make(endpoint_, places).has_value());

  ASSERT_TRUE(os::ReplaceFile(places[1], *os::ReadFile(Beside("libtessera-tls.so"))));

  const auto made = Tls::Make(endpoint_, places);
  EXPECT_TRUE(made.has_value()) << made.error().message;
}

TEST_F(TlsTest, AFileOfAnotherBuildIsNotUsed) {
  const std::string other = Beside("test/api/libother_tls.so");

  ExpectError(
      Tls::Make(endpoint_, {other, Beside("libtessera-tls.so")}),
      {Reason::kInvalid,
       fmt::format("{} is from 0.0.9 0123456789ab, but this program from {} {}: {}, and restart it",
                   other, TESSERA_VERSION, TESSERA_COMMIT, kAdvice)});
}

TEST_F(TlsTest, ALibraryOfSomethingElseIsNotUsed) {
  Dl_info about{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "event_base_new"), &about), 0);

  ExpectError(
      Tls::Make(endpoint_, {about.dli_fname}),
      {Reason::kInvalid,
       fmt::format("{} is from something else, but this program from {} {}: {}, and restart it",
                   about.dli_fname, TESSERA_VERSION, TESSERA_COMMIT, kAdvice)});
}

TEST_F(TlsTest, AFileThatIsNoLibraryIsNotUsed) {
  const std::string broken = InDirectory("a.so");
  ASSERT_TRUE(os::ReplaceFile(broken, "none"));

  ExpectError(Tls::Make(endpoint_, {broken}),
              {Reason::kInvalid,
               fmt::format("TLS cannot be loaded: {}: file too short; {}", broken, kAdvice)});
}

}  // namespace
}  // namespace tessera::http
