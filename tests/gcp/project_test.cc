// The real service. Runs where somebody gave a project for it:
//
//   HOPGAP_GCP_PROJECT=my-project HOPGAP_ENDPOINT=europe-west1-pubsub.googleapis.com ctest -R gcp
//
// with application default credentials that may create topics and subscriptions there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "gcp/fake_google.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

TEST(RealProjectTest, AShortRunCompletesAndRemovesWhatItMade) {
  const char* project = std::getenv("HOPGAP_GCP_PROJECT");
  if (project == nullptr || *project == '\0') {
    GTEST_SKIP() << "HOPGAP_GCP_PROJECT is not set: without a project and credentials the real service is not tested";
  }
  Folder folder;
  Process run({HOPGAP_BINARY, "run", "--target", StrCat("gcp:", project), "--rate", "1", "--messages", "5", "--work",
               "0ms", "--out", "r"},
              folder.path());
  const int code = run.Wait(180s);
  EXPECT_TRUE(code == 0 || code == 2) << code << "\n" << run.output();
  EXPECT_THAT(run.output(), HasSubstr("10 of 10 messages completed"));
  EXPECT_THAT(run.output(), Not(HasSubstr("could not remove")));
}

}  // namespace
}  // namespace hopgap::tests
