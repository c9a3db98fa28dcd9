#include "tools/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scratch.h"

namespace hopgap::house {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// The rooms that the rules tell apart, with a chain of DEPS to walk.
void WriteRooms(const Scratch& scratch) {
  const std::pair<const char*, const char*> rooms[] = {
      {"base", "LEVEL 0 LIBS absl::strings"},
      {"pubsub", "LEVEL 1 DEPS base LIBS absl::status"},
      {"trace", "LEVEL 1 DEPS base"},
      {"broker", "LEVEL 2 DEPS\n  pubsub  # and through it base\n  LIBS absl::status"},
      {"client", "LEVEL 2 DEPS pubsub TEST_DEPS trace"},
      {"store", "LEVEL 4 DEPS broker"},
      {"formats", "LEVEL 4 DEPS broker"},
      {"server", "LEVEL 5 DEPS broker"},
      {"sim", "LEVEL 5 DEPS broker store"},
      {"cli", "LEVEL 7 DEPS server"},
  };
  for (const auto& [name, rest] : rooms) {
    scratch.Write(std::string("src/") + name + "/CMakeLists.txt",
                  std::string("hopgap_module(") + name + " " + rest + ")\n");
  }
}

Findings FindingsFor(const std::string& file, const std::string& include) {
  const Scratch scratch;
  WriteRooms(scratch);
  scratch.Write("src/" + file, "// a comment\n#include " + include + "\n");
  return CheckLayers(scratch.path());
}

TEST(CheckLayersTest, AllowsWhatLiesBelow) {
  const std::pair<const char*, const char*> allowed[] = {
      {"broker/a.h", "\"broker/b.h\""},
      {"broker/a.h", "\"pubsub/b.h\""},
      {"broker/a.h", "\"base/time.h\""},
      {"broker/a.cc", "<vector>"},
      {"broker/a.cc", "<absl/status/status.h>"},
      {"base/system_clock.cc", "\"base/system_clock.h\""},
      {"server/a.cc", "\"base/system_clock.h\""},
      {"server/a.cc", "<grpcpp/grpcpp.h>"},
      {"server/a.cc", "<sys/socket.h>"},
      {"server/a.cc", "<google/protobuf/message.h>"},
      {"formats/a.cc", "\"opentelemetry/proto/trace/v1/trace.pb.h\""},
      {"formats/a.cc", "<nlohmann/json.hpp>"},
      {"formats/a.cc", "<fstream>"},
      {"store/a.cc", "<mutex>"},
      {"cli/a.cc", "<CLI/CLI.hpp>"},
      {"broker/a_test.cc", "<gmock/gmock.h>"},
      {"client/a_test.cc", "\"trace/event.h\""},
      {"pubsub/wire_testing.h", "<sys/mman.h>"},
      {"trace/a_test.cc", "<fstream>"},
      {"trace/a_test.cc", "<random>"},
  };
  for (const auto& [file, include] : allowed) {
    SCOPED_TRACE(std::string(file) + " " + include);
    EXPECT_THAT(FindingsFor(file, include), IsEmpty());
  }
}

TEST(CheckLayersTest, FindsEveryPlantedBreach) {
  struct Case {
    const char* file;
    const char* include;
    const char* rule;
  };
  const Case planted[] = {
      {"broker/a.h", "\"client/b.h\"", "may not see 'client'"},
      {"broker/a.h", "\"trace/event.h\"", "may not see 'trace'"},
      {"pubsub/a.h", "\"broker/b.h\"", "may not see 'broker'"},
      {"client/a.cc", "\"trace/event.h\"", "may not see 'trace'"},
      {"broker/a.cc", "\"b.h\"", "names no room"},
      {"broker/a.cc", "\"utils/b.h\"", "names no room"},
      {"broker/a.cc", "\"base/system_clock.h\"", "time is handed in"},
      {"sim/a.cc", "\"base/system_clock.h\"", "time is handed in"},
      {"broker/a.cc", "<grpcpp/grpcpp.h>", "gRPC belongs"},
      {"cli/a.cc", "<grpc/grpc.h>", "gRPC belongs"},
      {"broker/a.cc", "<google/protobuf/message.h>", "protobuf belongs"},
      {"cli/a.cc", "\"google/pubsub/v1/pubsub.pb.h\"", "generated protobuf"},
      {"server/a.cc", "<nlohmann/json.hpp>", "JSON belongs"},
      {"server/a.cc", "<spdlog/spdlog.h>", "logging belongs"},
      {"formats/a.cc", "<CLI/CLI.hpp>", "command line belongs"},
      {"broker/a.cc", "<thread>", "threads belong"},
      {"base/a.cc", "<mutex>", "locks belong"},
      {"sim/a.cc", "<atomic>", "atomics belong"},
      {"formats/a.cc", "<mutex>", "locks belong"},
      {"broker/a.cc", "<random>", "randomness is keyed"},
      {"trace/a.cc", "<fstream>", "files belong"},
      {"sim/a.cc", "<filesystem>", "files belong"},
      {"formats/a.cc", "<sys/socket.h>", "system calls belong"},
      {"store/a.cc", "<absl/synchronization/mutex.h>", "use std::mutex"},
      {"cli/a.cc", "<absl/time/clock.h>", "base/system_clock alone"},
      {"broker/a.cc", "<boost/asio.hpp>", "no header that tools/layers.cc knows"},
      {"broker/a_test.cc", "<thread>", "threads belong"},
      {"broker/a_testing.cc", "<gtest/gtest.h>", "no header that tools/layers.cc knows"},
      {"broker/a.cc", "<gtest/gtest.h>", "no header that tools/layers.cc knows"},
  };
  for (const Case& c : planted) {
    SCOPED_TRACE(std::string(c.file) + " " + c.include);
    EXPECT_THAT(FindingsFor(c.file, c.include),
                ElementsAre(AllOf(Field(&Finding::file, HasSubstr(c.file)), Field(&Finding::line, 2),
                                  Field(&Finding::rule, HasSubstr(c.rule)))));
  }
}

TEST(CheckLayersTest, ReadsIncludesHoweverTheyAreSpaced) {
  const Scratch scratch;
  WriteRooms(scratch);
  scratch.Write("src/broker/a.cc", "  #  include  <thread>\n#include<mutex>\n");
  EXPECT_THAT(CheckLayers(scratch.path()), ElementsAre(Field(&Finding::line, 1), Field(&Finding::line, 2)));
}

TEST(CheckLayersTest, RefusesAFolderThatIsNoRoom) {
  const Scratch scratch;
  WriteRooms(scratch);
  scratch.Write("src/utils/strings.h", "");
  EXPECT_THAT(CheckLayers(scratch.path()), ElementsAre(Field(&Finding::rule, HasSubstr("hopgap_module(utils"))));
}

TEST(CheckLayersTest, RefusesAnEmptyCheckout) {
  const Scratch scratch;
  EXPECT_THAT(CheckLayers(scratch.path()), ElementsAre(Field(&Finding::rule, HasSubstr("no rooms here"))));
}

// The real tree, so that the check is seen to bite where it is used.
TEST(CheckLayersTest, FindsABreachPlantedInACopyOfThisTree) {
  const Scratch scratch;
  std::filesystem::copy(std::filesystem::path(HOPGAP_ROOT) / "src", scratch.path() / "src",
                        std::filesystem::copy_options::recursive);
  const size_t before = CheckLayers(scratch.path()).size();
  scratch.Write("src/broker/planted.h", "#pragma once\n#include <thread>\n#include \"client/model.h\"\n");
  EXPECT_EQ(CheckLayers(scratch.path()).size(), before + 2);
}

}  // namespace
}  // namespace hopgap::house
