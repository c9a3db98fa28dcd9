#include "server/admission.h"

#include <gtest/gtest.h>

namespace hopgap::server {
namespace {

TEST(RequireBearerTokenTest, AdmitsTheTokenAndNothingLikeIt) {
  const Admission admission = RequireBearerToken("secret");
  EXPECT_TRUE(admission("/x", "Bearer secret").ok());
  for (const char* other : {"", "Bearer ", "Bearer secre", "Bearer secretx", "Bearer secretsecret", "Bearer Secret",
                            "secret", "bearer secret", "Basic secret"}) {
    EXPECT_EQ(admission("/x", other).code(), absl::StatusCode::kUnauthenticated) << other;
  }
}

TEST(RequireBearerTokenDeathTest, AnEmptyTokenIsAProgrammingError) {
  EXPECT_DEATH(RequireBearerToken(""), "would admit everybody");
}

}  // namespace
}  // namespace hopgap::server
