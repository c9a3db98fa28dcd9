#include "remote/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::remote {
namespace {

using ::testing::HasSubstr;

TEST(ParseUrlTest, SplitsOriginAndPath) {
  struct Case {
    const char* text;
    const char* origin;
    const char* path;
  };
  for (const Case& c : {Case{"http://a", "http://a", ""}, Case{"http://a:4318/", "http://a:4318", "/"},
                        Case{"https://a.b/v1/traces?x=1", "https://a.b", "/v1/traces?x=1"},
                        Case{"http://[::1]:80/x", "http://[::1]:80", "/x"}, Case{"http://[::1]", "http://[::1]", ""}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Url> url = ParseUrl(c.text);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->origin, c.origin);
    EXPECT_EQ(url->path, c.path);
  }
}

TEST(ParseUrlTest, RefusesWhatIsNone) {
  for (const char* text : {"", "a:4318", "ftp://a", "http://", "http://:80", "http://a:", "http://a:0",
                           "http://a:65536", "http://a:x/", "http://user@a/"}) {
    SCOPED_TRACE(text);
    const absl::StatusOr<Url> url = ParseUrl(text);
    ASSERT_FALSE(url.ok());
    EXPECT_THAT(MessageOf(url.status()), HasSubstr("expected http://HOST[:PORT]"));
  }
}

TEST(HttpClientTest, NobodyThereIsUnavailable) {
  HttpClient client({.origin = "http://127.0.0.1:1"});
  const absl::StatusOr<HttpResponse> response = client.Send({});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(response.status()), HasSubstr("http://127.0.0.1:1: no connection"));
}

}  // namespace
}  // namespace hopgap::remote
