#include "lab/arm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::lab {
namespace {

using ::testing::HasSubstr;

TEST(ArmTest, AKindIsAnArmOfItsName) {
  const absl::StatusOr<ArmSpec> standard = ParseArm("std", "go"), overlap = ParseArm("eos-overlap", "go");
  ASSERT_TRUE(standard.ok());
  EXPECT_EQ(standard->name, "std");
  EXPECT_FALSE(standard->exactly_once);
  EXPECT_EQ(standard->model, "go");
  ASSERT_TRUE(overlap.ok());
  EXPECT_TRUE(overlap->exactly_once);
  EXPECT_EQ(overlap->model, "overlap");
}

TEST(ArmTest, ANameAndStreamsMayBeGiven) {
  const absl::StatusOr<ArmSpec> arm = ParseArm("eos10:eos,streams=10", "go");
  ASSERT_TRUE(arm.ok()) << arm.status();
  EXPECT_EQ(arm->name, "eos10");
  EXPECT_EQ(arm->kind, "eos");
  EXPECT_EQ(arm->streams, 10u);
}

TEST(ArmTest, AnArmMayHaveAnyClientModel) {
  struct Case {
    const char* text;
    const char* name;
    const char* model;
    bool exactly_once;
    uint32_t streams;
  };
  for (const Case& c :
       {Case{"eos-java", "eos-java", "java", true, 0}, Case{"std-node", "std-node", "node", false, 0},
        Case{"eos-go-v1", "eos-go-v1", "go-v1", true, 0}, Case{"j:eos,client=java", "j", "java", true, 0},
        Case{"v1:eos-go-v1,streams=default", "v1", "go-v1", true, 10},
        Case{"n:std,streams=default,client=node", "n", "node", false, 5},
        Case{"e:eos,streams=default", "e", "go", true, 1}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<ArmSpec> arm = ParseArm(c.text, "go");
    ASSERT_TRUE(arm.ok()) << arm.status();
    EXPECT_EQ(arm->name, c.name);
    EXPECT_EQ(arm->model, c.model);
    EXPECT_EQ(arm->exactly_once, c.exactly_once);
    EXPECT_EQ(arm->streams, c.streams);
  }
}

TEST(ArmTest, AStandardArmMayKeepAStoreOfHandledMessages) {
  const absl::StatusOr<ArmSpec> plain = ParseArm("std-dedupe", "go"),
                                slow = ParseArm("d:std-dedupe,store=250us", "java");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(plain->exactly_once);
  EXPECT_EQ(plain->model, "go");
  EXPECT_EQ(plain->dedupe->access, std::chrono::milliseconds{1});
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->model, "java");
  EXPECT_EQ(slow->dedupe->access, std::chrono::microseconds{250});
  EXPECT_FALSE(ParseArm("std", "go")->dedupe.has_value());
}

TEST(ArmTest, AWorkerOfItsOwnIsACommandWithAllThatFollows) {
  const absl::StatusOr<ArmSpec> bare = ParseArm("go:worker=./w --a=b,c:d", "go");
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_EQ(bare->name, "go");
  EXPECT_EQ(bare->worker, "./w --a=b,c:d");
  EXPECT_TRUE(bare->exactly_once);
  const absl::StatusOr<ArmSpec> standard = ParseArm("py:std,streams=2,worker=python3 w.py", "go");
  ASSERT_TRUE(standard.ok()) << standard.status();
  EXPECT_FALSE(standard->exactly_once);
  EXPECT_EQ(standard->streams, 2u);
  EXPECT_EQ(standard->worker, "python3 w.py");
}

TEST(ArmTest, ErrorsNameTheValueAndWhatIsAllowed) {
  struct Case {
    const char* text;
    const char* why;
  };
  for (const Case& c :
       {Case{"", "unknown kind ''"}, Case{"x:y", "unknown kind 'y'"}, Case{":eos", "name ''"},
        Case{"a b:eos", "name 'a b'"}, Case{"e:eos,streams=0", "'streams=0' is outside [1, 100]"},
        Case{"e:eos,streams=101", "outside [1, 100]"}, Case{"e:worker=", "worker= names no command"},
        Case{"worker=w", "needs a name"}, Case{"e:eos-overlap,worker=w", "a client model of ours"},
        Case{"e:eos,stream=4", "unknown setting 'stream=4'"}, Case{"d:std-dedupe,store=2s", "none of 0us to 10000ms"},
        Case{"d:std-dedupe,store=10001ms", "none of"}, Case{"e:eos,store=1ms", "unknown setting 'store=1ms'"},
        Case{"eos-rust", "no client model 'rust'"}, Case{"e:eos,client=", "no client model ''"},
        Case{"w:eos,client=java,worker=w", "unknown setting"},
        Case{"w:eos,streams=default,worker=w", "is not known"}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<ArmSpec> arm = ParseArm(c.text, "go");
    ASSERT_FALSE(arm.ok());
    EXPECT_THAT(std::string(MessageOf(arm.status())), HasSubstr(c.why));
    EXPECT_THAT(std::string(MessageOf(arm.status())), HasSubstr("std, eos or eos-overlap"));
  }
}

}  // namespace
}  // namespace hopgap::lab
