#include "tools/files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace hopgap::house {

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::filesystem::path> FilesBelow(const std::filesystem::path& folder,
                                              const std::vector<std::string>& endings) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;  // a folder that is not there has no files
  for (std::filesystem::recursive_directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    if (!it->is_regular_file()) continue;
    if (std::ranges::find(endings, it->path().extension().string()) != endings.end()) files.push_back(it->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string OutputOf(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), count);
  pclose(pipe);
  return output;
}

std::string Quoted(std::string_view argument) {
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace hopgap::house
