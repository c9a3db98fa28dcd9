#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "pubsub/api.h"

namespace hopgap::pubsub {
namespace {

TEST(MethodsTest, EveryServedMethodGoesToItsPathAndBack) {
  std::set<std::string_view> paths;
  for (int i = 0; i <= static_cast<int>(Method::kStreamingPull); ++i) {
    const Method method = static_cast<Method>(i);
    EXPECT_EQ(MethodFromPath(MethodPath(method)), method);
    paths.insert(MethodPath(method));
  }
  EXPECT_EQ(paths.size(), 24u);
  EXPECT_EQ(MethodPath(Method::kPublish), "/google.pubsub.v1.Publisher/Publish");
  EXPECT_EQ(MethodPath(Method::kModifyAckDeadline), "/google.pubsub.v1.Subscriber/ModifyAckDeadline");
}

TEST(MethodsTest, WhatIsNotServedIsNamed) {
  struct Case {
    const char* path;
    const char* want;
  };
  for (const Case& c :
       {Case{"/google.pubsub.v1.Subscriber/ModifyPushConfig", "Subscriber.ModifyPushConfig is not supported yet"},
        Case{"/google.pubsub.v1.SchemaService/ValidateMessage", "SchemaService.ValidateMessage is not supported yet"},
        Case{"/google.iam.v1.IAMPolicy/GetIamPolicy", "IAMPolicy.GetIamPolicy is not supported yet"},
        Case{"/google.pubsub.v1.Subscriber/Nope", "no such method: /google.pubsub.v1.Subscriber/Nope"},
        Case{"/google.pubsub.v1.Publisher/Seek", "no such method: /google.pubsub.v1.Publisher/Seek"},
        Case{"", "no such method: "}}) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(MethodFromPath(c.path), std::nullopt);
    EXPECT_EQ(UnimplementedText(c.path), c.want);
  }
}

TEST(MethodsTest, APathIsTakenToTheLetter) {
  for (const char* path : {"google.pubsub.v1.Publisher/Publish", "/google.pubsub.v1.Publisher/publish",
                           "/google.pubsub.v1.Publisher/Publish/", "/google.pubsub.v1.Publisher/PublishX"}) {
    EXPECT_EQ(MethodFromPath(path), std::nullopt) << path;
  }
}

TEST(MethodsDeathTest, AServedMethodIsNeverCalledUnsupported) {
  EXPECT_DEATH(UnimplementedText("/google.pubsub.v1.Publisher/Publish"), "served");
}

}  // namespace
}  // namespace hopgap::pubsub
