#include "pubsub/filter.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "pubsub/limits.h"
#include "pubsub/wire.h"

namespace hopgap::pubsub {
namespace {

constexpr size_t kShownMax = 16;  // bytes of what stands at the position

bool IsKeyStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsKeyCharacter(char c) { return IsKeyStart(c) || (c >= '0' && c <= '9') || c == '-'; }

void AppendUtf8(std::string& out, uint32_t code) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0u | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0u | code >> 12);
    put(0x80u | (code >> 6 & 0x3Fu));
  } else {
    put(0xF0u | code >> 18);
    put(0x80u | (code >> 12 & 0x3Fu));
    put(0x80u | (code >> 6 & 0x3Fu));
  }
  put(0x80u | (code & 0x3Fu));
}

}  // namespace

// One method per rule of the grammar; each leaves `at_` behind what it read. No
// rule calls itself without a byte in between, so the text's limit bounds the depth.
class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  absl::StatusOr<Filter> Run() {
    SkipSpace();
    if (at_ == text_.size()) return Filter();
    if (absl::StatusOr<uint16_t> whole = Expression(); !whole.ok()) return whole.status();
    SkipSpace();
    if (at_ < text_.size()) return Expected("AND, OR or the end");
    return std::move(filter_);
  }

 private:
  using Kind = Filter::Node::Kind;

  // The position is that of the token that was not expected.
  absl::Status Expected(std::string_view what) const {
    std::string_view rest = text_.substr(at_, kShownMax);
    while (!IsUtf8(rest)) rest.remove_suffix(1);  // a character cut in the middle
    const std::string found = rest.empty() ? "the end" : StrCat("\"", rest, "\"");
    return absl::InvalidArgumentError(
        StrCat("Invalid filter: expected ", what, " at position ", at_, ", but found ", found, "."));
  }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool Take(std::string_view symbol) {
    const size_t before = at_;
    SkipSpace();
    if (!text_.substr(at_).starts_with(symbol)) {
      if (symbol == ":") at_ = before;  // a dot, which may come instead, takes no space
      return false;
    }
    at_ += symbol.size();
    return true;
  }

  // A word, and not the beginning of a longer one.
  bool TakeWord(std::string_view word) {
    SkipSpace();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && IsKeyCharacter(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }

  uint16_t Add(Filter::Node node) {
    filter_.nodes_.push_back(std::move(node));
    return static_cast<uint16_t>(filter_.nodes_.size() - 1);
  }

  absl::StatusOr<uint16_t> Expression() {
    absl::StatusOr<uint16_t> left = Term();
    std::string_view joined;
    while (left.ok()) {
      const size_t before = at_;
      const bool is_and = TakeWord("AND");
      if (!is_and && !TakeWord("OR")) break;
      const std::string_view word = is_and ? "AND" : "OR";
      if (!joined.empty() && joined != word) {
        at_ = before;
        SkipSpace();
        return Expected(StrCat(joined, " or parentheses (AND and OR are not mixed without them)"));
      }
      joined = word;
      const absl::StatusOr<uint16_t> right = Term();
      if (!right.ok()) return right;
      left = Add({.kind = is_and ? Kind::kAnd : Kind::kOr, .left = *left, .right = *right});
    }
    return left;
  }

  absl::StatusOr<uint16_t> Term() {
    const bool negated = TakeWord("NOT") || Take("-");
    const absl::StatusOr<uint16_t> factor = Factor();
    if (!factor.ok() || !negated) return factor;
    return Add({.kind = Kind::kNot, .left = *factor});
  }

  absl::StatusOr<uint16_t> Factor() {
    if (Take("(")) {
      absl::StatusOr<uint16_t> inner = Expression();
      if (inner.ok() && !Take(")")) return Expected("AND, OR or \")\"");
      return inner;
    }
    if (TakeWord("hasPrefix")) return HasPrefix();
    if (!TakeWord("attributes")) return Expected("\"attributes\", \"hasPrefix\", \"NOT\", \"-\" or \"(\"");
    if (Take(":")) {
      Filter::Node node{.kind = Kind::kHas};
      SkipSpace();
      if (absl::Status status = Key(node.key); !status.ok()) return status;
      return Add(std::move(node));
    }
    return Comparison();
  }

  absl::StatusOr<uint16_t> Comparison() {
    Filter::Node node{.kind = Kind::kEquals};
    if (absl::Status status = KeyAfterDot(node.key); !status.ok()) return status;
    const bool unequal = Take("!=");
    if (!unequal && !Take("=")) return Expected("\"=\" or \"!=\"");
    if (absl::Status status = String(node.value); !status.ok()) return status;
    const uint16_t equal = Add(std::move(node));
    return unequal ? Add({.kind = Kind::kNot, .left = equal}) : equal;
  }

  absl::StatusOr<uint16_t> HasPrefix() {
    Filter::Node node{.kind = Kind::kHasPrefix};
    if (!Take("(")) return Expected("\"(\"");
    if (!TakeWord("attributes")) return Expected("\"attributes\"");
    if (absl::Status status = KeyAfterDot(node.key); !status.ok()) return status;
    if (!Take(",")) return Expected("\",\"");
    if (absl::Status status = String(node.value); !status.ok()) return status;
    if (!Take(")")) return Expected("\")\"");
    return Add(std::move(node));
  }

  absl::Status KeyAfterDot(std::string& out) {
    if (at_ == text_.size() || text_[at_] != '.') return Expected("\".\" or \":\"");
    ++at_;
    return Key(out);
  }

  absl::Status Key(std::string& out) {
    if (at_ < text_.size() && text_[at_] == '"') {
      const size_t before = at_;
      if (absl::Status status = String(out); !status.ok()) return status;
      if (!out.empty()) return absl::OkStatus();
      at_ = before;
      return Expected("a key that is not empty");
    }
    if (at_ == text_.size() || !IsKeyStart(text_[at_])) {
      return Expected("an attribute key (a letter or \"_\", then letters, digits, \"_\", \"-\"; others in quotes)");
    }
    while (at_ < text_.size() && IsKeyCharacter(text_[at_])) out.push_back(text_[at_++]);
    return absl::OkStatus();
  }

  absl::Status String(std::string& out) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != '"') return Expected("a string in double quotes");
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out.push_back(text_[at_++]);
      } else if (absl::Status status = Escape(out); !status.ok()) {
        return status;
      }
    }
    if (at_ == text_.size()) return Expected("a closing quote");
    ++at_;
    return absl::OkStatus();
  }

  // At a backslash.
  absl::Status Escape(std::string& out) {
    const std::string_view rest = text_.substr(at_);
    if (rest.size() >= 2 && (rest[1] == '"' || rest[1] == '\\')) {
      out.push_back(rest[1]);
      at_ += 2;
      return absl::OkStatus();
    }
    std::optional<uint32_t> code = CodeUnit(rest);
    size_t length = kCodeUnitBytes;
    if (code && *code >= 0xD800 && *code < 0xDC00) {
      const std::optional<uint32_t> low = CodeUnit(rest.substr(length));
      const bool pair = low && *low >= 0xDC00 && *low < 0xE000;
      code = pair ? std::optional(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00)) : std::nullopt;
      length *= 2;
    } else if (code && *code >= 0xDC00 && *code < 0xE000) {
      code.reset();
    }
    if (!code) return Expected("\\\", \\\\ or \\u and four hexadecimal digits of a character");
    AppendUtf8(out, *code);
    at_ += length;
    return absl::OkStatus();
  }

  static constexpr size_t kCodeUnitBytes = 6;
  static std::optional<uint32_t> CodeUnit(std::string_view text) {
    if (text.size() < kCodeUnitBytes || !text.starts_with("\\u")) return std::nullopt;
    uint32_t code = 0;
    const char* end = text.data() + kCodeUnitBytes;
    const auto [stop, error] = std::from_chars(text.data() + 2, end, code, 16);
    return error == std::errc() && stop == end ? std::optional(code) : std::nullopt;
  }

  const std::string_view text_;
  size_t at_ = 0;
  Filter filter_;
};

absl::StatusOr<Filter> Filter::Parse(std::string_view text) {
  if (text.size() > kFilterBytesMax) {
    return absl::InvalidArgumentError(StrCat("The value for filter is too large. You passed ", text.size(),
                                             " bytes in the request, but the maximum is ", kFilterBytesMax, "."));
  }
  return FilterParser(text).Run();
}

bool Filter::Matches(const Node& node, const Message& message) const {
  switch (node.kind) {
    case Node::Kind::kHas: return message.Attribute(node.key).has_value();
    case Node::Kind::kEquals: return message.Attribute(node.key) == std::optional<std::string_view>(node.value);
    case Node::Kind::kHasPrefix: {
      const std::optional<std::string_view> value = message.Attribute(node.key);
      return value && value->starts_with(node.value);
    }
    case Node::Kind::kNot: return !Matches(nodes_[node.left], message);
    case Node::Kind::kAnd: return Matches(nodes_[node.left], message) && Matches(nodes_[node.right], message);
    case Node::Kind::kOr: return Matches(nodes_[node.left], message) || Matches(nodes_[node.right], message);
  }
  return false;
}

}  // namespace hopgap::pubsub
