#include "formats/trace_file.h"

#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "formats/otlp_line_scan.h"
#include "formats/otlp_proto.h"
#include "formats/span_forms.h"
#include "formats/unpack.h"

namespace hopgap::formats {
namespace {

constexpr std::array<FormFacts, kSpanForms> kFacts = {{
    {"OTLP JSON", Duration{1}},
    {"OTLP protobuf", Duration{1}},
    {"Collector file (length-framed)", Duration{1}},
    {"Tempo JSON", Duration{1}},
    {"Jaeger JSON", std::chrono::microseconds{1}},
    {"Zipkin v2 JSON", std::chrono::microseconds{1}, false, true},  // links only as the Collector's tags
    {"Cloud Trace v1 JSON", Duration{1}, false, false},
    {"Cloud Trace v2 JSON", Duration{1}},
    {"_AllSpans rows", std::chrono::microseconds{1}},
    {"ClickHouse otel_traces rows", Duration{1}},
}};

// protobuf's first field, and what frames may hold: that, JSON or zstd.
constexpr char kProtobufFirst = 0x0a;
constexpr char kZstdFirst = 0x28;
constexpr size_t kFrameHead = 4;

// Lines one after another that the fast reader of OTLP could not read: then it is
// no longer asked.
constexpr int kRefusedMax = 8;

size_t FrameLength(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kFrameHead; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

bool LooksFramed(std::string_view bytes) {
  if (bytes.size() <= kFrameHead || bytes[0] == kProtobufFirst || FrameLength(bytes) == 0) return false;
  const char first = bytes[kFrameHead];
  return first == kProtobufFirst || first == '{' || first == kZstdFirst;
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class FileReader {
 public:
  FileReader(std::string name, const TakeSpans& take, size_t bytes_max)
      : take_(take), bytes_max_(bytes_max), parser_(bytes_max) {
    source_.file = std::move(name);
  }

  absl::StatusOr<TraceSource> Read(UnpackedInput& input) {
    input_ = &input;
    source_.packing = std::string(input.packing());
    if (absl::Status status = More(); !status.ok()) return Refused(MessageOf(status));
    const size_t begin = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;  // a byte order mark
    text_.erase(0, begin);
    constexpr char kBlanks[] = " \t\r\n";
    size_t first = text_.find_first_not_of(kBlanks);
    while (first == std::string::npos && !ended_ && text_.size() <= bytes_max_) {
      const size_t looked_at = text_.size();
      if (absl::Status more = More(); !more.ok()) return Refused(MessageOf(more));
      first = text_.find_first_not_of(kBlanks, looked_at);
    }
    absl::Status status;
    if (first == std::string::npos && cut_off_.empty()) return Refused("is empty");
    if (first != std::string::npos && (text_[first] == '{' || text_[first] == '[')) {
      DropBlanks(first);
      status = ReadText();
    } else {
      status = ReadBinary();
    }
    if (!status.ok()) return status;
    if (source_.spans == 0 && source_.partial()) {
      return absl::InvalidArgumentError(StrCat("nothing could be read: ", source_.warnings.front()));
    }
    if (source_.snake_case) Warn(StrCat(source_.file, ": snake_case field names, which OTLP JSON does not have"));
    return std::move(source_);
  }

 private:
  absl::Status Refused(std::string_view why) const {
    return absl::InvalidArgumentError(StrCat(source_.file, ": ", why));
  }

  void Warn(std::string warning) {
    if (source_.warnings.size() < kSourceWarningsMax) source_.warnings.push_back(std::move(warning));
  }
  void BadPart(uint64_t line, std::string_view why) {
    ++source_.bad_parts;
    Warn(line == 0 ? StrCat(source_.file, ": ", why) : StrCat(source_.file, ":", line, ": ", why));
  }

  // Lines of them are counted, so that the numbers of later ones are right.
  void DropBlanks(size_t bytes) {
    blank_lines_ =
        static_cast<uint64_t>(std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(bytes), '\n'));
    text_.erase(0, bytes);
  }

  // Appends the next bytes. Damaged packing is the end of the file, and named.
  absl::Status More() {
    if (absl::Status status = input_->Read(chunk_); !status.ok()) {
      if (text_.empty() && source_.spans == 0 && !any_) return status;
      cut_off_ = std::string(MessageOf(status));
      ended_ = true;
    }
    any_ = any_ || !chunk_.empty();
    ended_ = ended_ || chunk_.empty();
    text_.reserve(text_.size() + chunk_.size() + OtlpLineScanner::kPadding);
    text_ += chunk_;
    return absl::OkStatus();
  }

  // JSON: one document a line, if the first line is one; else one document.
  absl::Status ReadText() {
    size_t end = text_.find('\n');
    while (end == std::string::npos && !ended_ && text_.size() <= bytes_max_) {
      const size_t looked_at = text_.size();
      if (absl::Status status = More(); !status.ok()) return status;
      end = text_.find('\n', looked_at);
    }
    if (Parses(std::string_view(text_).substr(0, end))) return ReadLines(false);
    while (!ended_ && text_.size() <= bytes_max_) {
      if (absl::Status status = More(); !status.ok()) return status;
    }
    if (text_.size() > bytes_max_) return Refused(StrCat("a JSON document longer than ", Limit()));
    Element document;
    const simdjson::error_code error = parser_.parse(text_.data(), text_.size()).get(document);
    if (error == simdjson::SUCCESS) return TakeDocument(document, 0, text_);
    document_error_ = error;
    return ReadLines(true);
  }

  std::string Limit() const { return StrCat(bytes_max_, " bytes", source_.packing.empty() ? "" : " when unpacked"); }
  bool Parses(std::string_view text) {
    Element ignored;
    return parser_.parse(text.data(), text.size()).get(ignored) == simdjson::SUCCESS;
  }

  // `desperate`: neither the first line nor the whole is JSON. If no line is, one
  // sentence says so instead of one a line.
  absl::Status ReadLines(bool desperate) {
    uint64_t number = blank_lines_;
    bool good = !desperate;
    std::vector<std::pair<uint64_t, std::string>> pending;
    for (;;) {
      size_t at = 0;
      for (size_t end; (end = text_.find('\n', at)) != std::string::npos || (ended_ && at < text_.size());) {
        const std::string_view line = std::string_view(text_).substr(at, end - at);
        at = end == std::string::npos ? text_.size() : end + 1;
        if (absl::Status status = ReadLine(++number, line, good, pending); !status.ok()) return status;
        if (end == std::string::npos) break;
      }
      text_.erase(0, at);
      if (ended_) break;
      if (text_.size() > bytes_max_) return Refused(StrCat("line ", number + 1, " is longer than ", Limit()));
      if (absl::Status status = More(); !status.ok()) return status;
    }
    if (!good) return absl::DataLossError(StrCat(source_.file, ": ", NoDocument(pending)));
    if (!cut_off_.empty()) BadPart(0, cut_off_);
    return absl::OkStatus();
  }

  std::string NoDocument(const std::vector<std::pair<uint64_t, std::string>>& pending) const {
    if (!cut_off_.empty()) return cut_off_;
    // These are wrong wherever the file ends.
    for (const simdjson::error_code error : {simdjson::UTF8_ERROR, simdjson::DEPTH_ERROR, simdjson::UNESCAPED_CHARS,
                                             simdjson::STRING_ERROR, simdjson::NUMBER_ERROR}) {
      if (document_error_ == error) return StrCat("no JSON: ", simdjson::error_message(error));
    }
    return pending.size() <= 1 ? StrCat("the JSON ends in the middle, or is damaged; was the file cut off?")
                               : StrCat("the JSON document ends in the middle, or is damaged, somewhere in its ",
                                        pending.back().first, " lines; was the file cut off?");
  }

  absl::Status ReadLine(uint64_t number, std::string_view line, bool& good,
                        std::vector<std::pair<uint64_t, std::string>>& pending) {
    if (IsBlank(line)) return absl::OkStatus();
    if (ScanLine(line)) {
      BecomeGood(good, pending);
      source_.forms.insert(SpanForm::kOtlpJson);
      return HandOn();
    }
    Element document;
    if (const simdjson::error_code error = parser_.parse(line.data(), line.size()).get(document)) {
      std::string why = StrCat("no JSON: ", simdjson::error_message(error));
      if (good) {
        BadPart(number, why);
      } else {
        pending.emplace_back(number, std::move(why));
      }
      return absl::OkStatus();
    }
    // In a broken document a line may be JSON by chance: a number, or a brace pair.
    if (!good && !document.is_object()) return absl::OkStatus();
    BecomeGood(good, pending);
    return TakeDocument(document, number, line);
  }

  void BecomeGood(bool& good, std::vector<std::pair<uint64_t, std::string>>& pending) {
    if (std::exchange(good, true)) return;
    for (const auto& [bad, why] : std::exchange(pending, {})) BadPart(bad, why);
  }

  // What a line has of the spans of OTLP, the fast way; false if it needs the other.
  // Lines lie in text_, which has padding.
  bool ScanLine(std::string_view line) {
    if (refused_ >= kRefusedMax) return false;
    spans_.clear();
    const bool read = scanner_.Read(line, spans_);
    refused_ = read ? 0 : refused_ + 1;
    return read;
  }

  absl::Status TakeDocument(const Element& document, uint64_t line, std::string_view text) {
    spans_.clear();
    bad_.clear();
    SpanSink sink{spans_, bad_, source_};
    if (absl::Status status = ReadSpanDocument(document, sink); !status.ok()) {
      if (line == 0) return Refused(MessageOf(status));
      BadPart(line, MessageOf(status));
      return absl::OkStatus();
    }
    for (const BadSpan& bad : bad_) NameBad(bad, line, text);
    return HandOn();
  }

  // In a document of many lines the span's id says which one it is on.
  void NameBad(const BadSpan& bad, uint64_t line, std::string_view text) {
    ++source_.bad_spans;
    if (source_.warnings.size() >= kSourceWarningsMax) return;
    if (line == 0 && !bad.id.empty()) {
      const size_t at = text.find(bad.id);
      if (at != std::string_view::npos) {
        line = 1 + static_cast<uint64_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
      }
    }
    Warn(StrCat(source_.file, line == 0 ? "" : StrCat(":", line), ": a span left out: ", bad.why,
                bad.id.empty() ? "" : StrCat(" (span ", bad.id.substr(0, 40), ")")));
  }

  absl::Status HandOn() {
    source_.spans += spans_.size();
    return spans_.empty() ? absl::OkStatus() : take_(spans_);
  }

  absl::Status ReadBinary() {
    while (text_.size() <= kFrameHead && !ended_) {
      if (absl::Status status = More(); !status.ok()) return status;
    }
    if (text_.starts_with("\x1f\x8b")) return Refused("packed twice; unpack it once");
    if (!LooksFramed(text_) && !text_.starts_with(kProtobufFirst)) return RefuseBinary();
    while (!ended_ && text_.size() <= bytes_max_) {
      if (absl::Status status = More(); !status.ok()) return status;
    }
    if (text_.size() > bytes_max_) return Refused(StrCat("longer than ", Limit()));
    if (!cut_off_.empty()) BadPart(0, cut_off_);
    return LooksFramed(text_) ? ReadFrames(text_) : ReadProtobuf(text_, SpanForm::kOtlpProtobuf);
  }

  absl::Status RefuseBinary() const {
    if (!cut_off_.empty()) return absl::DataLossError(StrCat(source_.file, ": ", cut_off_));
    const bool printable =
        std::all_of(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(std::min<size_t>(text_.size(), 200)),
                    [](unsigned char c) { return c >= 0x20 || c == '\n' || c == '\r' || c == '\t'; });
    return Refused(printable ? "text, but no JSON; of tables, JSON lines are read and CSV is not"
                             : "neither JSON nor OTLP protobuf nor the Collector's frames");
  }

  absl::Status ReadFrames(std::string_view bytes) {
    while (!bytes.empty()) {
      ++frames_;
      const size_t length = bytes.size() < kFrameHead ? 0 : FrameLength(bytes);
      if (bytes.size() < kFrameHead || bytes.size() - kFrameHead < length) {
        BadPart(0, StrCat("frame ", frames_, " ends in the middle"));
        break;
      }
      if (absl::Status status = ReadFrame(bytes.substr(kFrameHead, length)); !status.ok()) return status;
      bytes.remove_prefix(kFrameHead + length);
    }
    return absl::OkStatus();
  }

  absl::Status ReadFrame(std::string_view packed) {
    absl::StatusOr<std::string> payload = Unpack(packed, bytes_max_);
    if (!payload.ok()) {
      BadPart(0, StrCat("frame ", frames_, ": ", MessageOf(payload.status())));
      return absl::OkStatus();
    }
    source_.forms.insert(SpanForm::kCollectorFrames);
    if (!payload->starts_with('{')) return ReadProtobuf(*payload, SpanForm::kCollectorFrames);
    Element document;
    if (const simdjson::error_code error = parser_.parse(payload->data(), payload->size()).get(document)) {
      BadPart(0, StrCat("frame ", frames_, ": no JSON: ", simdjson::error_message(error)));
      return absl::OkStatus();
    }
    return TakeDocument(document, frames_, *payload);
  }

  // A message that is cut off still has its first resources whole: each is a
  // request of its own.
  absl::Status ReadProtobuf(std::string_view bytes, SpanForm form) {
    spans_.clear();
    while (!bytes.empty()) {
      const size_t size = ResourceSize(bytes);
      absl::StatusOr<OtlpTaken> taken =
          size == 0 ? absl::InvalidArgumentError("") : DecodeOtlpRequest(bytes.substr(0, size), spans_);
      if (!taken.ok()) {
        BadPart(0, "the protobuf ends in the middle, or is no OTLP");
        break;
      }
      source_.forms.insert(form);
      source_.bad_spans += taken->rejected;
      if (taken->rejected > 0) {
        Warn(StrCat(source_.file, ": ", taken->rejected, " spans left out, the first: ", taken->rejected_why));
      }
      bytes.remove_prefix(size);
    }
    return HandOn();
  }

  // Of the first field with its head; 0 if it is not whole or not the expected one.
  static size_t ResourceSize(std::string_view bytes) {
    if (bytes[0] != kProtobufFirst) return 0;
    size_t length = 0;
    for (size_t i = 1; i < bytes.size() && i <= 5; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      length |= static_cast<size_t>(byte & 0x7f) << (7 * (i - 1));
      if (byte < 0x80) return bytes.size() - i - 1 >= length ? i + 1 + length : 0;
    }
    return 0;
  }

  const TakeSpans& take_;
  const size_t bytes_max_;
  TraceSource source_;
  simdjson::dom::parser parser_;
  OtlpLineScanner scanner_;
  int refused_ = 0;
  uint64_t blank_lines_ = 0;                                 // before the first character
  simdjson::error_code document_error_ = simdjson::SUCCESS;  // of the file as one document
  UnpackedInput* input_ = nullptr;
  std::string text_, chunk_;
  std::string cut_off_;  // why the packed data ended early
  bool ended_ = false, any_ = false;
  uint64_t frames_ = 0;
  std::vector<trace::Span> spans_;
  std::vector<BadSpan> bad_;
};

}  // namespace

const FormFacts& FactsOf(SpanForm form) {
  const auto index = static_cast<size_t>(form);
  HOPGAP_CHECK(index < kFacts.size(), "no such form");
  return kFacts[index];
}

absl::StatusOr<TraceSource> ReadTraceFile(const std::string& path, const TakeSpans& take, size_t document_bytes_max) {
  absl::StatusOr<std::unique_ptr<UnpackedInput>> input = UnpackedInput::Open(path);
  if (!input.ok()) return input.status();
  return FileReader(path, take, document_bytes_max).Read(**input);
}

absl::StatusOr<TraceSource> ReadTraceBytes(std::string_view bytes, const std::string& name, const TakeSpans& take) {
  absl::StatusOr<std::unique_ptr<UnpackedInput>> input = UnpackedInput::OfBytes(bytes);
  if (!input.ok()) return input.status();
  return FileReader(name, take, kDocumentBytesMax).Read(**input);
}

absl::StatusOr<std::vector<std::string>> ExpandTraceFiles(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      if (path != "-" && !fs::exists(path, error))
        return absl::NotFoundError(StrCat(path, ": cannot be read: no such file or folder"));
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(path, kOptions, error), end; it != end; it.increment(error)) {
      if (error) break;
      // To be read, and refused by name.
      if (it->is_directory(error) && access(it->path().c_str(), R_OK | X_OK) != 0) found.push_back(it->path().string());
      const bool hidden = it->path().filename().string().starts_with('.');
      if (hidden && it->is_directory(error)) it.disable_recursion_pending();
      if (!hidden && it->is_regular_file(error)) found.push_back(it->path().string());
      if (files.size() + found.size() > kTraceFilesMax) {
        return absl::ResourceExhaustedError(StrCat(path, ": more than ", kTraceFilesMax, " files"));
      }
    }
    if (error) return absl::UnavailableError(StrCat(path, ": ", error.message()));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace hopgap::formats
