#include "cli/run_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "formats/paths_file.h"
#include "report/threshold.h"

namespace hopgap::cli {

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return absl::NotFoundError(StrCat(path, ": cannot be read"));
  return std::move(text).str();
}

absl::Status WriteWhole(const std::string& path, std::string_view text) {
  // A link's file is replaced, not the link; a pipe or device is written to.
  std::error_code error_code;
  std::string target = path;
  if (std::filesystem::is_symlink(path, error_code)) {
    target = std::filesystem::weakly_canonical(path, error_code).string();
    if (error_code) target = path;
  }
  const bool in_place =
      std::filesystem::exists(target, error_code) && !std::filesystem::is_regular_file(target, error_code);
  const std::string written = in_place ? target : target + ".partial";
  std::FILE* file = std::fopen(written.c_str(), "wb");
  bool ok = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file != nullptr && std::fclose(file) != 0) {
    ok = false;
    error = errno;
  }
  if (ok && !in_place && std::rename(written.c_str(), target.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (ok) return absl::OkStatus();
  if (file != nullptr && !in_place) std::remove(written.c_str());
  return absl::UnavailableError(StrCat("cannot write '", path, "': ", std::strerror(error)));
}

std::string BaseName(const std::string& path) {
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  const std::string name = normal.filename().string();
  return name.empty() || name == "." ? path : name;
}

uint64_t MessagesOf(const report::Run& run) {
  uint64_t messages = 0;
  for (const report::ArmRun& arm : run.arms) messages += arm.paths.size();
  return messages;
}

std::string RenderJudgements(const report::Summary& summary) {
  std::string out;
  for (const report::Judgement& judgement : summary.judgements) out += report::RenderJudgement(judgement) + "\n";
  return out;
}

absl::StatusOr<RunFiles> ReadRunFiles(const std::string& folder) {
  const std::string run_file = StrCat(folder, "/run.json"), paths_file = StrCat(folder, "/", formats::kPathsFile);
  absl::StatusOr<std::string> text = ReadWhole(run_file);
  if (!text.ok()) {
    return absl::NotFoundError(StrCat(MessageOf(text.status()), "; is '", folder, "' a folder that hopgap wrote?"));
  }
  absl::StatusOr<report::Run> run = formats::ReadRunJson(*text, run_file);
  if (!run.ok()) return run.status();
  absl::StatusOr<formats::Machine> machine = formats::ReadRunMachine(*text, run_file);
  if (!machine.ok()) return machine.status();
  if (run->spans_only) {
    return absl::InvalidArgumentError(StrCat(folder,
                                             ": was collected, so it has spans and no paths; the page of those: "
                                             "hopgap analyze ",
                                             folder, " --report FILE"));
  }
  absl::StatusOr<std::string> bytes = ReadWhole(paths_file);
  if (!bytes.ok()) {
    return absl::NotFoundError(StrCat(MessageOf(bytes.status()), " (runs of more than ", formats::kPathsMax,
                                      " messages write none, nor did older versions); the page of its spans: hopgap "
                                      "analyze ",
                                      folder, " --report FILE"));
  }
  if (absl::Status status = formats::ReadPaths(*bytes, paths_file, *run); !status.ok()) return status;
  return RunFiles{*std::move(run), *std::move(machine)};
}

}  // namespace hopgap::cli
