// The files that deploy hopgap, read without the network: they name files that exist, and ask the program for verbs,
// flags and variables that it has. A variable that no flag reads would be ignored without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kRoot = HOPGAP_ROOT;

std::vector<fs::path> YamlFiles() {
  std::vector<fs::path> files = {kRoot / "compose.yaml"};
  for (const char* folder : {"deploy", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
  }
  return files;
}

// What `hopgap VERB --help` prints; nothing if it is no verb.
std::string Help(const std::string& verb) {
  static std::map<std::string, std::string> known;
  const auto [entry, is_new] = known.emplace(verb, "");
  if (!is_new) return entry->second;
  std::array<char, 4096> piece;
  std::string text;
  FILE* pipe = popen((std::string(HOPGAP_BINARY) + " " + verb + " --help 2>&1").c_str(), "r");
  while (fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
  pclose(pipe);
  if (text.find("hopgap " + verb + " ") != std::string::npos) entry->second = text;
  return entry->second;
}

bool HasFlag(const std::string& verb, const std::string& flag) {
  return std::regex_search(Help(verb), std::regex("(^|[\\s,])" + flag + "($|[^A-Za-z0-9-])"));
}

// What is asked of hopgap: the words after its name, and variables.
struct Call {
  std::vector<std::string> words, variables;
};

std::vector<std::string> Findings(const Call& call) {
  std::vector<std::string> findings;
  const std::string verb = call.words.empty() ? "" : call.words[0];
  if (Help(verb).empty()) return {"no verb '" + verb + "'"};
  for (size_t i = 1; i < call.words.size(); ++i) {
    const std::string flag = call.words[i].substr(0, call.words[i].find('='));
    if (flag.starts_with("--") && !HasFlag(verb, flag)) findings.push_back(verb + " has no " + flag);
  }
  for (const std::string& variable : call.variables) {
    if (!variable.starts_with("HOPGAP_")) continue;
    std::string flag = "--";
    for (const char c : variable.substr(7)) {
      flag += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (!HasFlag(verb, flag)) findings.push_back(variable + ": " + verb + " has no " + flag);
  }
  return findings;
}

std::vector<std::string> WordsOf(const YAML::Node& list) {
  std::vector<std::string> words;
  for (const YAML::Node& word : list) words.push_back(word.as<std::string>());
  return words;
}

// The calls in containers of Kubernetes objects, wherever they stand.
void CollectContainers(const YAML::Node& node, std::vector<Call>& calls) {
  if (node.IsMap() && node["image"] && node["image"].as<std::string>() == "hopgap" && !node["command"]) {
    Call call{.words = WordsOf(node["args"]), .variables = {}};
    for (const YAML::Node& variable : node["env"]) call.variables.push_back(variable["name"].as<std::string>());
    calls.push_back(call);
    return;
  }
  if (!node.IsMap() && !node.IsSequence()) return;
  for (const auto& child : node) CollectContainers(node.IsMap() ? child.second : child, calls);
}

// yaml-cpp leaves merges (<<) to us.
std::map<std::string, YAML::Node> Merged(const YAML::Node& map) {
  std::map<std::string, YAML::Node> all;
  for (const auto& entry : map) {
    if (entry.first.as<std::string>() != "<<") all[entry.first.as<std::string>()] = entry.second;
  }
  if (map["<<"]) all.merge(Merged(map["<<"]));
  return all;
}

std::vector<Call> ComposeCalls() {
  std::vector<Call> calls;
  for (const auto& entry : YAML::LoadFile((kRoot / "compose.yaml").string())["services"]) {
    std::map<std::string, YAML::Node> service = Merged(entry.second);
    if (service["image"].as<std::string>() != "hopgap" || service.contains("entrypoint")) continue;
    Call call{.words = WordsOf(service["command"]), .variables = {}};
    if (service.contains("environment")) {
      for (const auto& variable : Merged(service["environment"])) call.variables.push_back(variable.first);
    }
    calls.push_back(call);
  }
  return calls;
}

TEST(DeployFilesTest, KustomizationsNameWhatIsThere) {
  size_t named = 0;
  for (const fs::path& file : YamlFiles()) {
    if (file.filename() != "kustomization.yaml") continue;
    const YAML::Node node = YAML::LoadFile(file.string());
    std::vector<std::string> names;
    for (const char* list : {"resources", "components"}) {
      for (const std::string& name : WordsOf(node[list])) names.push_back(name);
    }
    for (const YAML::Node& patch : node["patches"]) {
      if (patch["path"]) names.push_back(patch["path"].as<std::string>());
    }
    for (const YAML::Node& generator : node["configMapGenerator"]) {
      for (const std::string& name : WordsOf(generator["files"])) names.push_back(name);
    }
    for (const std::string& name : names) {
      ++named;
      const fs::path path = file.parent_path() / name;
      EXPECT_TRUE(fs::is_regular_file(path) || fs::exists(path / "kustomization.yaml")) << file << ": " << name;
    }
  }
  EXPECT_GT(named, 20u);
}

TEST(DeployFilesTest, ContainersAskHopgapForWhatItHas) {
  std::vector<Call> calls;
  for (const fs::path& file : YamlFiles()) {
    if (file.string().find("/deploy/k8s/") == std::string::npos) continue;
    for (const YAML::Node& document : YAML::LoadAllFromFile(file.string())) CollectContainers(document, calls);
  }
  ASSERT_EQ(calls.size(), 4u) << "api, worker, setup and broker";
  for (const Call& call : calls) EXPECT_THAT(Findings(call), IsEmpty());
}

TEST(DeployFilesTest, ComposeAsksHopgapForWhatItHas) {
  const std::vector<Call> calls = ComposeCalls();
  ASSERT_EQ(calls.size(), 10u) << "broker, setup, 2 apis, 6 workers";
  for (const Call& call : calls) EXPECT_THAT(Findings(call), IsEmpty());
}

TEST(DeployFilesTest, PlantedCallsAreFound) {
  EXPECT_THAT(Findings({.words = {"serves"}, .variables = {}}), Contains(HasSubstr("no verb 'serves'")));
  EXPECT_THAT(Findings({.words = {"serve", "--prot=8085"}, .variables = {}}), Contains("serve has no --prot"));
  EXPECT_THAT(Findings({.words = {"serve", "--por=8085"}, .variables = {}}), Contains("serve has no --por"));
  EXPECT_THAT(Findings({.words = {"serve"}, .variables = {"HOPGAP_PROT"}}), Contains(HasSubstr("serve has no --prot")));
  EXPECT_THAT(Findings({.words = {"serve", "--port=8085"}, .variables = {"HOPGAP_PORT", "HOME"}}), IsEmpty());
}

TEST(DeployFilesTest, TheImageAsksHopgapForWhatItHas) {
  FILE* file = fopen((kRoot / "Dockerfile").c_str(), "r");
  ASSERT_NE(file, nullptr);
  std::array<char, 1024> line;
  size_t seen = 0;
  while (fgets(line.data(), line.size(), file) != nullptr) {
    const std::string text = line.data();
    const bool health = text.starts_with("HEALTHCHECK ");
    if (!health && !text.starts_with("CMD ")) continue;
    ++seen;
    std::vector<std::string> words = WordsOf(YAML::Load(text.substr(text.find('['))));
    if (health) words.erase(words.begin());  // the program itself, which ENTRYPOINT gives CMD
    EXPECT_THAT(Findings({.words = words, .variables = {}}), IsEmpty());
  }
  fclose(file);
  EXPECT_EQ(seen, 2u);
}

}  // namespace
}  // namespace hopgap::tests
