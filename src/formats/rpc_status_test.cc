#include "formats/rpc_status.h"

#include <gtest/gtest.h>

namespace hopgap::formats {
namespace {

using namespace std::chrono_literals;

TEST(RpcStatusTest, TheDelayGoesThereAndBack) {
  const std::string bytes = EncodeRpcStatus(absl::ResourceExhaustedError("full"), 1500ms);
  EXPECT_EQ(RetryDelayOf(bytes), Duration{1500ms});
  EXPECT_EQ(RetryDelayOf(EncodeRpcStatus(absl::ResourceExhaustedError("full"), std::nullopt)), std::nullopt);
}

TEST(RpcStatusTest, WhatIsNoDelayIsNone) {
  EXPECT_EQ(RetryDelayOf(""), std::nullopt);
  EXPECT_EQ(RetryDelayOf("<html>"), std::nullopt);
  EXPECT_EQ(RetryDelayOf(EncodeRpcStatus(absl::ResourceExhaustedError("full"), -1s)), std::nullopt);
  EXPECT_EQ(RetryDelayOf(EncodeRpcStatus(absl::ResourceExhaustedError("full"), 1000h)), Duration{24h});
}

}  // namespace
}  // namespace hopgap::formats
