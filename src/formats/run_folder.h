#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hopgap::formats {

inline constexpr char kSpansFile[] = "spans.otlp.jsonl";  // OTLP JSON, a request a line

// A run folder in the making. It is written under a hidden temporary name in
// the folder's parent and renamed by Commit(), so that a killed run leaves
// nothing that looks like a result; without Commit() it is removed.
//
// Not thread-safe.
class RunFolder {
 public:
  // Makes the parent if need be. AlreadyExists if `path` is there;
  // PermissionDenied or Unavailable, saying why, if it cannot be written.
  static absl::StatusOr<RunFolder> Create(const std::string& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  // Appends to the file `name`, made on first use. `name` has no '/'.
  // Requires: not committed.
  absl::Status Append(std::string_view name, std::string_view bytes);

  // Hands what was appended to the system, so that it survives this process.
  absl::Status Flush();

  // Leaves everything where it is, under its temporary name, which is returned:
  // for what must not be lost when it cannot be finished.
  std::string Keep();

  // Closes the files and gives the folder its name. The files with their sizes,
  // by name. The folder is removed if that fails.
  absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> Commit();

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct File {
    std::unique_ptr<std::FILE, Close> handle;
    uint64_t bytes = 0;
  };
  RunFolder(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {}
  absl::Status CloseAll();
  void Remove();

  std::string path_;
  std::string temporary_;  // empty: committed or removed
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace hopgap::formats
