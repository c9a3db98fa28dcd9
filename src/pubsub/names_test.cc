#include "pubsub/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "pubsub/limits.h"

namespace hopgap::pubsub {
namespace {

TEST(NamesTest, C25_IdsAreOfTheServicesAlphabet) {
  struct Case {
    std::string id;
    bool want;
  };
  for (const Case& c : {Case{"ab", false},
                        Case{"abc", true},
                        Case{"1abc", false},
                        Case{std::string(kIdBytesMax, 'a'), true},
                        Case{std::string(kIdBytesMax + 1, 'a'), false},
                        Case{"goog-x", false},
                        Case{"x goog", false},
                        Case{"ok-._~+%ok", true},
                        Case{"käse", false},
                        Case{"GoogX", true},
                        Case{"goo", true},
                        Case{"goog", false},
                        Case{"_deleted-topic_", false},
                        Case{"", false},
                        Case{"a/b", false},
                        Case{"abc/", false},
                        Case{"ZAz09", true},
                        Case{"a[b", false},
                        Case{"a`b", false},
                        Case{"a{b", false},
                        Case{"a:b", false},
                        Case{std::string("ab\0", 3), false}}) {
    SCOPED_TRACE(c.id);
    const std::string name = "projects/p/topics/" + c.id;
    const absl::StatusOr<ResourceName> parsed = ParseName(name, "topics");
    EXPECT_EQ(parsed.ok(), c.want);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    EXPECT_EQ(parsed->project, "p");
    EXPECT_EQ(parsed->id, c.id);
  }
}

TEST(NamesTest, ANameIsOfItsCollectionAndOfOneProject) {
  struct Case {
    const char* name;
    bool want;
  };
  for (const Case& c :
       {Case{"projects/p/subscriptions/abc", true}, Case{"projects/example.com:p-1/subscriptions/abc", true},
        Case{"projects/p/topics/abc", false}, Case{"projects//subscriptions/abc", false},
        Case{"projects/p/subscriptions", false}, Case{"projects/p/subscriptions/", false},
        Case{"projects/p/subscriptionsX/abc", false}, Case{"projects/p/subscription/sabc", false},
        Case{"projects/p/q/subscriptions/abc", false}, Case{"Projects/p/subscriptions/abc", false},
        Case{"projects/p", false}, Case{"projects/", false}, Case{"", false}, Case{"abc", false},
        Case{"/projects/p/subscriptions/abc", false}}) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ParseName(c.name, "subscriptions").ok(), c.want);
  }
}

TEST(NamesTest, ABadNameAnswersWithTheServicesText) {
  EXPECT_EQ(MessageOf(ParseName("projects/p/topics/ab", "topics").status()),
            "Invalid resource name given (name=projects/p/topics/ab). Refer to "
            "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information.");
}

TEST(NamesTest, AProjectIsAnythingWithoutASlash) {
  EXPECT_EQ(*ParseProject("projects/p"), "p");
  EXPECT_EQ(*ParseProject("projects/12345"), "12345");
  for (const char* name : {"", "p", "projects/", "projects/p/", "projects/p/topics/abc", "project/p"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ParseProject(name).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(NamesTest, ShortNameIsWhatFollowsTheLastSlash) {
  EXPECT_EQ(ShortName("projects/p/topics/abc"), "abc");
  EXPECT_EQ(ShortName(kDeletedTopic), kDeletedTopic);
  EXPECT_EQ(ShortName("abc/"), "");
  EXPECT_EQ(ShortName(""), "");
}

}  // namespace
}  // namespace hopgap::pubsub
