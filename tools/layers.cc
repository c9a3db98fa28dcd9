#include "tools/layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tools/files.h"

namespace hopgap::house {
namespace {

constexpr std::string_view kEveryRoom = "*";
constexpr std::string_view kNoRoom = "";
constexpr std::string_view kAdapters = "loop store server remote live embedded cli";
constexpr std::string_view kAdaptersAndFormats = "loop store server remote live embedded cli formats";
constexpr std::string_view kProtobufRooms = "server remote formats";

// Who may include a header. The first rule that matches decides; `header` ends
// in '/' for a whole folder.
struct Rule {
  std::string_view header;
  std::string_view rooms;
  std::string_view why;
};

constexpr Rule kRules[] = {
    {"absl/synchronization/", kNoRoom, "Debian's absl::Mutex is not built for TSan; use std::mutex in an adapter"},
    {"absl/time/clock.h", kNoRoom, "the clock is read by base/system_clock alone"},
    {"absl/random/", kNoRoom, "randomness is keyed: base/draw"},
    {"absl/", kEveryRoom, ""},
    {"grpc/", "server remote", "gRPC belongs to server and remote"},
    {"grpcpp/", "server remote", "gRPC belongs to server and remote"},
    {"grpc++/", "server remote", "gRPC belongs to server and remote"},
    {"google/protobuf/", kProtobufRooms, "protobuf belongs to server, remote and formats"},
    {"httplib.h", "server remote", "HTTP belongs to server and remote"},
    {"openssl/", "remote", "cryptography belongs to remote"},
    {"zlib.h", "remote formats", "what leaves over HTTP is packed in remote, files are unpacked in formats"},
    {"zstd.h", "formats", "files are unpacked in formats"},
    {"yaml-cpp/", "cli formats", "configuration files belong to cli, seed files to formats"},
    {"nlohmann/", "formats", "JSON belongs to formats"},
    {"simdjson.h", "formats", "JSON belongs to formats"},
    {"CLI/", "cli live", "the command line belongs to cli and live"},
    {"spdlog/", "cli live", "logging belongs to cli and live"},
    {"fmt/", "cli live", "logging belongs to cli and live"},
    {"nmmintrin.h", "store", "the processor's own CRC32C belongs to the journal's frames"},
    {"thread", kAdapters, "threads belong to the adapters"},
    {"stop_token", kAdapters, "threads belong to the adapters"},
    {"mutex", kAdapters, "locks belong to the adapters"},
    {"shared_mutex", kAdapters, "locks belong to the adapters"},
    {"condition_variable", kAdapters, "locks belong to the adapters"},
    {"atomic", kAdapters, "atomics belong to the adapters"},
    {"future", kAdapters, "threads belong to the adapters"},
    {"semaphore", kAdapters, "locks belong to the adapters"},
    {"latch", kAdapters, "locks belong to the adapters"},
    {"barrier", kAdapters, "locks belong to the adapters"},
    {"random", kAdapters, "randomness is keyed: base/draw"},
    {"fstream", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"filesystem", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"fcntl.h", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"unistd.h", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"dirent.h", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"sys/stat.h", kAdaptersAndFormats, "files belong to the adapters and formats"},
    {"sys/", kAdapters, "system calls belong to the adapters"},
    {"linux/", kAdapters, "system calls belong to the adapters"},
    {"netinet/", kAdapters, "sockets belong to the adapters"},
    {"arpa/", kAdapters, "sockets belong to the adapters"},
    {"netdb.h", kAdapters, "sockets belong to the adapters"},
    {"poll.h", kAdapters, "sockets belong to the adapters"},
    {"pthread.h", kAdapters, "threads belong to the adapters"},
    {"sched.h", kAdapters, "threads belong to the adapters"},
    {"signal.h", kAdapters, "signals belong to the adapters"},
    {"csignal", kAdapters, "signals belong to the adapters"},
    {"termios.h", "cli live", "the terminal belongs to cli and live"},
};
// Tests may besides read golden files, put bytes before a guard page, and use
// seeded engines.
constexpr std::string_view kTestHeaders[] = {"gtest/gtest.h", "gmock/gmock.h", "fstream",  "random",
                                             "filesystem",    "sys/mman.h",    "unistd.h", "gtest/gtest-spi.h"};
constexpr Rule kGenerated = {".pb.h", kProtobufRooms, "generated protobuf code belongs to server, remote and formats"};
constexpr Rule kSystemClock = {"base/system_clock.h", "base loop store server remote live embedded cli",
                               "time is handed in; only adapters read the clock"};

struct Room {
  std::set<std::string> deps, test_deps;
};
using Rooms = std::map<std::string, Room>;

// hopgap_module(name LEVEL n DEPS … LIBS … TEST_DEPS … TEST_LIBS …)
Room ParseModule(std::string_view text) {
  Room room;
  std::set<std::string>* list = nullptr;
  const size_t begin = text.find("hopgap_module(");
  if (begin == std::string_view::npos) return room;
  const std::string_view arguments = text.substr(begin, text.find(')', begin) - begin);
  for (const std::string& line : Lines(arguments)) {
    for (const std::string& word : Words(std::string_view(line).substr(0, line.find('#')))) {
      if (word == "DEPS") {
        list = &room.deps;
      } else if (word == "TEST_DEPS") {
        list = &room.test_deps;
      } else if (word == "LEVEL" || word == "LIBS" || word == "TEST_LIBS") {
        list = nullptr;
      } else if (list != nullptr) {
        list->insert(word);
      }
    }
  }
  return room;
}

Rooms ReadRooms(const std::filesystem::path& src, Findings& findings) {
  Rooms rooms;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(src, ignored)) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    const std::string text = ReadFile(entry.path() / "CMakeLists.txt");
    if (text.find("hopgap_module(" + name) == std::string::npos) {
      findings.push_back({entry.path().string(), 0, "a folder of src/ is a room: hopgap_module(" + name + " …)"});
    }
    rooms[name] = ParseModule(text);
  }
  return rooms;
}

void AddClosure(const Rooms& rooms, const std::string& room, std::set<std::string>& seen) {
  if (!seen.insert(room).second) return;
  const auto it = rooms.find(room);
  if (it == rooms.end()) return;
  for (const std::string& dep : it->second.deps) AddClosure(rooms, dep, seen);
}

std::set<std::string> VisibleRooms(const Rooms& rooms, const std::string& room, bool test) {
  std::set<std::string> seen;
  AddClosure(rooms, room, seen);
  if (test) {
    for (const std::string& dep : rooms.at(room).test_deps) AddClosure(rooms, dep, seen);
  }
  return seen;
}

bool Allows(const Rule& rule, const std::string& room) {
  if (rule.rooms == kEveryRoom) return true;
  const std::vector<std::string> allowed = Words(rule.rooms);
  return std::ranges::find(allowed, room) != allowed.end();
}

std::string Refusal(const Rule& rule, const std::string& header, const std::string& room) {
  std::string text = "room '" + room + "' may not include " + header + ": " + std::string(rule.why);
  if (!rule.rooms.empty()) text += " (allowed: " + std::string(rule.rooms) + ")";
  return text;
}

bool Matches(const Rule& rule, std::string_view header) {
  return rule.header.ends_with('/') ? header.starts_with(rule.header) : header == rule.header;
}

struct Include {
  bool quoted = false;
  std::string header;
};

std::optional<Include> ParseInclude(std::string_view line) {
  const auto skip_blanks = [&line] {
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (!line.starts_with('"') && !line.starts_with('<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  return Include{.quoted = quoted, .header = std::string(line.substr(0, line.find(quoted ? '"' : '>')))};
}

// One source file and what it may see.
struct Source {
  std::string room;
  bool test = false;
  const Rooms& rooms;
  std::set<std::string> visible;
};

// Our own headers. The rule that the include breaks, if any.
std::optional<std::string> JudgeQuoted(const Source& source, const std::string& header) {
  const std::string owner = header.substr(0, header.find('/'));
  if (owner.size() == header.size() || !source.rooms.contains(owner)) {
    return "\"" + header + "\" names no room of src/: write \"room/file.h\", and <…> for what is not ours";
  }
  if (!source.visible.contains(owner)) {
    return "room '" + source.room + "' may not see '" + owner + "': it is not in the closure of its DEPS";
  }
  if (Matches(kSystemClock, header) && !Allows(kSystemClock, source.room)) {
    return Refusal(kSystemClock, header, source.room);
  }
  return std::nullopt;
}

// Everybody else's headers.
std::optional<std::string> JudgeAngled(const Source& source, const std::string& header) {
  if (source.test && std::ranges::find(kTestHeaders, header) != std::end(kTestHeaders)) return std::nullopt;
  for (const Rule& rule : kRules) {
    if (!Matches(rule, header)) continue;
    if (Allows(rule, source.room)) return std::nullopt;
    return Refusal(rule, "<" + header + ">", source.room);
  }
  // The standard library's have neither folder nor ending.
  if (header.find_first_of("/.") == std::string::npos) return std::nullopt;
  return "<" + header +
         "> is no header that tools/layers.cc knows; a new dependency needs a rule there and a line in "
         "docs/dependencies.md";
}

std::optional<std::string> Judge(const Source& source, const Include& include) {
  if (include.header.ends_with(kGenerated.header)) {
    if (Allows(kGenerated, source.room)) return std::nullopt;
    return Refusal(kGenerated, include.header, source.room);
  }
  return include.quoted ? JudgeQuoted(source, include.header) : JudgeAngled(source, include.header);
}

}  // namespace

bool IsTest(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  if (stem.ends_with("_test")) return true;
  return file.extension() == ".h" && (stem.ends_with("_testing") || stem.starts_with("test_"));
}

Findings CheckLayers(const std::filesystem::path& root) {
  Findings findings;
  const std::filesystem::path src = root / "src";
  const Rooms rooms = ReadRooms(src, findings);
  if (rooms.empty()) findings.push_back({src.string(), 0, "no rooms here: is this the root of a checkout?"});
  for (const auto& [name, room] : rooms) {
    for (const std::filesystem::path& file : FilesBelow(src / name, {".h", ".cc"})) {
      const bool test = IsTest(file);
      const Source source{.room = name, .test = test, .rooms = rooms, .visible = VisibleRooms(rooms, name, test)};
      int number = 0;
      for (const std::string& line : Lines(ReadFile(file))) {
        ++number;
        const std::optional<Include> include = ParseInclude(line);
        if (!include.has_value()) continue;
        std::optional<std::string> breach = Judge(source, *include);
        if (breach.has_value()) findings.push_back({file.string(), number, *std::move(breach)});
      }
    }
  }
  return findings;
}

}  // namespace hopgap::house
