#include "pubsub/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Attributes = std::vector<std::pair<std::string, std::string>>;

bool Match(std::string_view text, const Attributes& attributes) {
  const absl::StatusOr<Filter> filter = Filter::Parse(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && filter->Matches(Message::Make("x", attributes));
}

std::string Refusal(std::string_view text) {
  const absl::StatusOr<Filter> filter = Filter::Parse(text);
  EXPECT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(MessageOf(filter.status()));
}

TEST(FilterTest, C19_WhichMessagesMatch) {
  const std::vector<Attributes> messages = {
      {{"name", "com"}, {"lang", "en"}}, {{"name", "net"}, {"lang", "en"}}, {{"lang", "jp"}}, {{"name", "com"}}, {}};
  const auto matching = [&](const char* text) {
    std::vector<int> numbers;
    for (size_t i = 0; i < messages.size(); ++i) {
      if (Match(text, messages[i])) numbers.push_back(static_cast<int>(i) + 1);
    }
    return numbers;
  };
  EXPECT_THAT(matching("attributes.name = \"com\""), ElementsAre(1, 4));
  EXPECT_THAT(matching("attributes.name != \"com\""), ElementsAre(2, 3, 5));
  EXPECT_THAT(matching("attributes:name"), ElementsAre(1, 2, 4));
  EXPECT_THAT(matching("NOT attributes:name"), ElementsAre(3, 5));
  EXPECT_THAT(matching("attributes.name = \"com\" AND -attributes:\"lang\""), ElementsAre(4));
  EXPECT_THAT(matching("hasPrefix(attributes.name, \"n\")"), ElementsAre(2));
  EXPECT_THAT(matching("(NOT attributes:name) OR attributes.name = \"net\""), ElementsAre(2, 3, 5));
  EXPECT_THAT(matching(""), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(matching("attributes:lang AND attributes:name AND NOT attributes.name = \"net\""), ElementsAre(1));
  EXPECT_THAT(matching("attributes.lang = \"jp\" OR attributes.name = \"net\" OR attributes:no"), ElementsAre(2, 3));
  EXPECT_THAT(matching("NOT hasPrefix(attributes.name, \"\")"), ElementsAre(3, 5)) << "absent has no prefix at all";
  EXPECT_THAT(matching("-(attributes:name AND (attributes:lang OR attributes:x))"), ElementsAre(3, 4, 5));
}

TEST(FilterTest, C20_WhatIsRefused) {
  const std::string mixed = "attributes.a = \"1\" AND attributes.b = \"2\" OR attributes.c = \"3\"";
  EXPECT_THAT(Refusal(mixed), HasSubstr("expected AND or parentheses"));
  EXPECT_THAT(Refusal(mixed), HasSubstr("at position 42, but found \"OR attributes.c \""));
  EXPECT_THAT(Refusal("attributes.a = \"1\" and attributes.b = \"2\""),
              HasSubstr("expected AND, OR or the end at position 19"));
  EXPECT_THAT(Refusal("attributes.a = 1"), HasSubstr("expected a string in double quotes at position 15"));
  EXPECT_THAT(Refusal("data = \"x\""), HasSubstr("at position 0, but found \"data = "));
  EXPECT_THAT(Refusal("attributes.a == \"1\""), HasSubstr("expected a string in double quotes at position 14"));
  const std::string start = "attributes.a = \"";
  EXPECT_THAT(Refusal(start + std::string(257 - start.size() - 1, 'x') + "\""),
              HasSubstr("You passed 257 bytes in the request, but the maximum is 256"));
  EXPECT_TRUE(Filter::Parse(start + std::string(256 - start.size() - 1, 'x') + "\"").ok());
  EXPECT_TRUE(
      Match("(attributes.a = \"1\" AND attributes.b = \"2\") OR attributes.c = \"3\"", {{"c", "3"}, {"a", "1"}}));
}

TEST(FilterTest, EveryPlaceSaysWhatItExpects) {
  struct Case {
    const char* text;
    const char* want;
  };
  for (const Case& c : {
           Case{"attributes", "expected \".\" or \":\" at position 10, but found the end"},
           Case{"attributes .a = \"\"", "expected \".\" or \":\" at position 10"},
           Case{"attributes. a = \"\"", "expected an attribute key"},
           Case{"attributes.1 = \"\"", "expected an attribute key"},
           Case{"attributes:\"\"", "expected a key that is not empty at position 11"},
           Case{"attributes.a", "expected \"=\" or \"!=\" at position 12, but found the end"},
           Case{"attributes.a =", "expected a string in double quotes at position 14, but found the end"},
           Case{"attributes.a = 'x'", "expected a string in double quotes"},
           Case{"attributes.a = \"x", "expected a closing quote at position 17, but found the end"},
           Case{"attributes.a = \"\\n\"", "at position 16, but found \"\\n\""},
           Case{"attributes.a = \"\\u12g4\"", "four hexadecimal digits"},
           Case{"attributes.a = \"\\ud83d\"", "four hexadecimal digits"},
           Case{"attributes.a = \"\\ude00\"", "four hexadecimal digits"},
           Case{"attributes.a = \"\\", "four hexadecimal digits"},
           Case{"(attributes:a", "expected AND, OR or \")\" at position 13"},
           Case{"()", "at position 1"},
           Case{"attributes:a AND", "at position 16, but found the end"},
           Case{"NOT NOT attributes:a", "at position 4"},
           Case{"hasprefix(attributes.a, \"x\")", "at position 0"},
           Case{"hasPrefix attributes.a", "expected \"(\""},
           Case{"hasPrefix(data, \"x\")", "expected \"attributes\""},
           Case{"hasPrefix(attributes:a, \"x\")", "expected \".\" or \":\""},
           Case{"hasPrefix(attributes.a \"x\")", "expected \",\""},
           Case{"hasPrefix(attributes.a, x)", "expected a string in double quotes"},
           Case{"hasPrefix(attributes.a, \"x\"", "expected \")\""},
           Case{"attributes:a attributes:b", "expected AND, OR or the end at position 13"},
           Case{"attributes:a ANDattributes:b", "expected AND, OR or the end"},
           Case{"attributes:a \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x\xc3\xa4", "but found"},
       }) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(Refusal(c.text), HasSubstr(c.want));
    EXPECT_TRUE(IsUtf8(Refusal(c.text)));
  }
}

TEST(FilterTest, KeysAndStringsMayHoldAnything) {
  EXPECT_TRUE(Match("attributes:\"iana.org/language_tag\"", {{"iana.org/language_tag", ""}}));
  EXPECT_TRUE(Match("attributes.\"x.y\" = \"1\"", {{"x.y", "1"}}));
  EXPECT_TRUE(Match("attributes._a-1=\"\"", {{"_a-1", ""}}));
  EXPECT_TRUE(Match("attributes.a = \"say \\\"hi\\\" \\\\\"", {{"a", "say \"hi\" \\"}}));
  EXPECT_TRUE(Match("attributes.a = \"\\u00e4\\u20ac\\ud83d\\ude00A\"", {{"a",
                                                                          "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"
                                                                          "A"}}));
  EXPECT_TRUE(Match("attributes.AND = \"OR\"", {{"AND", "OR"}})) << "a word is no key";
  EXPECT_TRUE(Match("\t attributes.a\n!=\r\"1\" ", {}));
  EXPECT_FALSE(Match("attributes.a = \"X\"", {{"a", "x"}})) << "case counts";
  EXPECT_FALSE(Match("attributes:A", {{"a", "x"}}));
}

TEST(FilterTest, NothingMatchesEverything) {
  EXPECT_TRUE(Filter::Parse("")->matches_all());
  EXPECT_TRUE(Filter::Parse(" \n ")->matches_all());
  EXPECT_FALSE(Filter::Parse("attributes:a")->matches_all());
  EXPECT_TRUE(Filter().Matches(Message::Make("x", {})));
}

// As deep as 256 bytes get.
TEST(FilterTest, DepthIsBoundedByTheText) {
  const std::string inner = "attributes:a";
  const size_t depth = (256 - inner.size()) / 2;
  EXPECT_TRUE(Match(std::string(depth, '(') + inner + std::string(depth, ')'), {{"a", ""}}));
  EXPECT_THAT(Refusal(std::string(256, '(')), HasSubstr("at position 256"));
  EXPECT_THAT(Refusal(std::string(256, '-')), HasSubstr("at position 1"));
}

// Whatever is asked, an answer: with and without a key, and for any mutation.
TEST(FilterTest, HostileTextIsAnAnswer) {
  const uint64_t seed = TestSeed();
  TestDraws draws(seed);
  const std::vector<std::string> parts = {"attributes", ".",  ":",   "a",   "\"", "\"x\"", " ",
                                          "AND",        "OR", "NOT", "-",   "(",  ")",     "hasPrefix",
                                          ",",          "=",  "!=",  "\\u", "\\", "1",     "\xc3\xa4"};
  const Message message = Message::Make("x", {{"a", "x"}, {"b", ""}});
  size_t accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text =
        i % 2 == 0 ? "attributes.a = \"x\" AND NOT (attributes:b OR hasPrefix(attributes.c, \"y\"))" : "";
    for (uint64_t changes = draws.Below(6); changes > 0; --changes) {
      const std::string& part = parts[draws.Below(parts.size())];
      const size_t at = draws.Below(text.size() + 1);
      if (draws.Below(2) == 0) {
        text.insert(at, part);
      } else {
        text.replace(at, draws.Below(4), part);
      }
    }
    const absl::StatusOr<Filter> filter = Filter::Parse(text);
    if (!filter.ok()) {
      ASSERT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument) << text;
      continue;
    }
    ++accepted;
    filter->Matches(message);
  }
  EXPECT_GT(accepted, 1000u) << "HOPGAP_SEED=" << seed;
}

}  // namespace
}  // namespace hopgap::pubsub
