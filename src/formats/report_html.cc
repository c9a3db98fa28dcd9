#include "formats/report_html.h"

#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "formats/page_json.h"
#include "formats/page_template.h"
#include "formats/summary_json.h"
#include "formats/sweep_json.h"
#include "report/text.h"

namespace hopgap::formats {
namespace {

constexpr std::string_view kTitle = "@@hopgap-title@@";
constexpr std::string_view kText = "@@hopgap-text@@";
constexpr std::string_view kData = "@@hopgap-data@@";

std::string Dump(const OrderedJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

// Inside a script element only '<' can end it, and JSON has another way to write it.
std::string ForScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string ForHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '@': out += "&#64;"; break;  // no text is ever taken for a mark
      default: out += c;
    }
  }
  return out;
}

// The summary is the very text of summary.json: one document, two places.
std::string RunData(const HtmlRun& run) {
  OrderedJson machine = nullptr;
  if (run.machine) {
    machine = {{"system", run.machine->system},   {"cpu", run.machine->cpu},
               {"cpus", run.machine->cpus},       {"memory_bytes", run.machine->memory_bytes},
               {"started", run.machine->started}, {"command_line", run.machine->command_line}};
  }
  return StrCat("{\"name\":", Dump(run.name), ",\"machine\":", Dump(machine),
                ",\"page\":", Dump(PageToJson(run.page, run.summary)), ",\"summary\":", SummaryJson(run.summary), "}");
}

// Puts `text` in the place of `mark`, which the template has once.
void Put(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  HOPGAP_CHECK(at != std::string::npos, "the page's template lacks a mark");
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string ReportHtml(const std::vector<HtmlRun>& runs, const std::optional<report::RunComparison>& comparison,
                       const std::optional<HtmlSweep>& sweep) {
  HOPGAP_CHECK(!runs.empty() || sweep, "a page of nothing");
  std::string data = "{\"schema\":\"hopgap.report/1\",\"runs\":[", title, text;
  for (const HtmlRun& run : runs) {
    if (&run != &runs.front()) data += ",";
    data += RunData(run);
    title += StrCat(title.empty() ? "" : ", ", run.name);
    text += StrCat(run.name, "\n", report::RenderText(run.summary, {}), "\n");
  }
  if (comparison) text = report::RenderComparison(*comparison) + "\n" + text;
  data += StrCat("],\"comparison\":", comparison ? Dump(ComparisonToJson(*comparison)) : "null");
  if (sweep) {
    const report::SweepHere* here = sweep->here ? &*sweep->here : nullptr;
    data += StrCat(",\"sweep\":{\"name\":", Dump(sweep->name), ",\"command_line\":", Dump(sweep->command_line),
                   ",\"map\":", Dump(OrderedJson::parse(SweepJson(sweep->plan, sweep->cells, here))), "}");
    if (runs.empty()) title = sweep->name;
    text += report::RenderSweep(sweep->plan, sweep->cells, here);
  }
  data += "}";
  std::string page(PageTemplate());
  Put(page, kTitle, ForHtml(title));
  Put(page, kText, ForHtml(text));
  Put(page, kData, ForScript(data));
  return page;
}

std::string ComparisonJson(const report::RunComparison& comparison) {
  return Dump(ComparisonToJson(comparison), 2) + "\n";
}

}  // namespace hopgap::formats
