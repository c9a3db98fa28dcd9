#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/process_flags.h"
#include "formats/json_text.h"
#include "live/doctor.h"
#include "live/machine.h"
#include "remote/metadata_server.h"

namespace hopgap::cli {
namespace {

using live::Finding;
using Verdict = Finding::Verdict;

struct DoctorFlags {
  BrokerFlags target;
  std::string project;
  bool json = false;
};

const char* Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kWarn: return "warn";
    case Verdict::kFail: return "fail";
  }
  return "";
}

std::string Text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string verdict = Word(finding.verdict);
    text += StrCat(verdict, std::string(6 - verdict.size(), ' '), finding.subject, ": ", finding.found, "\n");
    if (!finding.advice.empty()) text += StrCat("      → ", finding.advice, "\n");
  }
  return text;
}

std::string Json(const std::vector<Finding>& findings) {
  std::string text = "{\"schema\": \"hopgap.doctor/1\", \"checks\": [";
  for (const Finding& finding : findings) {
    text += &finding == &findings.front() ? "\n  {\"subject\": " : ",\n  {\"subject\": ";
    formats::AppendJsonText(finding.subject, text);
    text += StrCat(", \"verdict\": \"", Word(finding.verdict), "\", \"found\": ");
    formats::AppendJsonText(finding.found, text);
    text += ", \"advice\": ";
    formats::AppendJsonText(finding.advice, text);
    text += "}";
  }
  return text + "\n]}\n";
}

int CodeOfFailure(const Finding& finding) {
  const int code = CodeOfTarget(absl::Status(finding.code, finding.found));
  return code == kUnreachable || code == kRefused || code == kQuota ? code : kUnfit;
}

absl::Status Examine(const DoctorFlags& flags, std::vector<Finding>& findings) {
  const bool targeted = flags.target.given();
  if (!targeted && flags.target.settings_given()) {
    return absl::InvalidArgumentError("--target: is needed by --endpoint, --ca-file and the like");
  }
  if (!targeted) {
    findings = live::ExamineMachine();
    return absl::OkStatus();
  }
  absl::StatusOr<remote::Target> target = flags.target.Finish();
  if (!target.ok()) return target.status();
  findings = live::ExamineMachine();
  const std::string region = target->service() ? remote::MachineRegion().value_or("") : "";
  const std::string project = target->service() ? target->project : flags.project;
  const std::vector<Finding> more = live::ExamineTarget(*std::move(target), project, region);
  findings.insert(findings.end(), more.begin(), more.end());
  return absl::OkStatus();
}

int DoctorCommand(const DoctorFlags& flags) {
  std::vector<Finding> findings;
  if (absl::Status status = Examine(flags, findings); !status.ok()) return Fail(kBadConfiguration, MessageOf(status));
  std::fputs((flags.json ? Json(findings) : Text(findings)).c_str(), stdout);
  const auto failed = std::find_if(findings.begin(), findings.end(),
                                   [](const Finding& finding) { return finding.verdict == Verdict::kFail; });
  return failed == findings.end() ? kOk : CodeOfFailure(*failed);
}

}  // namespace

void AddDoctor(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<DoctorFlags>();
  flags->project = "hopgap-doctor";
  CLI::App* command =
      app.add_subcommand("doctor", "whether this machine, and a target if one is given, can be measured");
  command->group("Measure");
  flags->target.Add(*command);
  command->add_option("--project", flags->project, "of the topic and subscription made on another target than gcp:")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON document (docs/json.md)");
  commands.push_back({command, [flags] { return DoctorCommand(*flags); }, false});
}

}  // namespace hopgap::cli
