#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hopgap::house {

// The file as text; empty if it cannot be read.
std::string ReadFile(const std::filesystem::path& file);

// Split at newlines; the last line need not end in one.
std::vector<std::string> Lines(std::string_view text);

// Split at blanks, without empty words.
std::vector<std::string> Words(std::string_view text);

// The regular files below `folder` with one of these endings (".h"), sorted.
// Empty if there is no such folder.
std::vector<std::filesystem::path> FilesBelow(const std::filesystem::path& folder,
                                              const std::vector<std::string>& endings);

// What the shell command writes to standard output and standard error.
std::string OutputOf(const std::string& command);

// The argument as the shell reads it back, whatever is in it.
std::string Quoted(std::string_view argument);

}  // namespace hopgap::house
