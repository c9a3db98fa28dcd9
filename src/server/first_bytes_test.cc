#include "server/first_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hopgap::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FirstBytesTest, TellsProtocolsApartByThreeBytes) {
  struct Case {
    const char* first;
    FirstBytes want;
  };
  for (const Case& c : {Case{"", FirstBytes::kMore}, Case{"PR", FirstBytes::kMore}, Case{"PRI", FirstBytes::kHttp2},
                        Case{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FirstBytes::kHttp2}, Case{"GET", FirstBytes::kHttp1},
                        Case{"PUT /v1", FirstBytes::kHttp1}, Case{"PRO", FirstBytes::kHttp1},
                        Case{"\x16\x03\x01\x02", FirstBytes::kUnknown}, Case{"get", FirstBytes::kUnknown},
                        Case{"PR\n", FirstBytes::kUnknown}}) {
    SCOPED_TRACE(c.first);
    EXPECT_EQ(Classify(c.first), c.want);
  }
}

TEST(Http1RefusalTest, ItsLengthIsThatOfItsBody) {
  const std::string answer = Http1Refusal();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 Not Implemented\r\n"));
  const size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_THAT(answer, HasSubstr("Content-Length: " + std::to_string(answer.size() - body) + "\r\n"));
  EXPECT_THAT(answer.substr(body), StartsWith(R"({"error":{"code":501,)"));
}

}  // namespace
}  // namespace hopgap::server
