#include "formats/json_cursor.h"

namespace hopgap::formats {

bool JsonCursor::Digits() {
  const char* begin = at_;
  while (*at_ >= '0' && *at_ <= '9') ++at_;
  return at_ != begin;
}

bool JsonCursor::Number(std::string_view& out) {
  Next();
  const char* begin = at_;
  at_ += *at_ == '-' ? 1 : 0;
  if (*at_ == '0' ? (++at_, false) : !Digits()) return false;
  if (*at_ == '.' && (++at_, !Digits())) return false;
  if (*at_ == 'e' || *at_ == 'E') {
    ++at_;
    at_ += *at_ == '-' || *at_ == '+' ? 1 : 0;
    if (!Digits()) return false;
  }
  out = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

bool JsonCursor::Integer(int64_t& out) {
  std::string_view text;
  if (!(Next() == '"' ? Text(text) : Number(text)) || text.empty()) return false;
  const bool minus = text.front() == '-';
  text.remove_prefix(minus ? 1 : 0);
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = 10 * number + static_cast<uint64_t>(c - '0');
  }
  // 19 digits cannot overflow 64 bits; more, or what needs the sign bit, are read otherwise.
  constexpr size_t kDigitsMax = 19;
  if (text.empty() || text.size() > kDigitsMax || number > INT64_MAX) return false;
  out = minus ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
  return true;
}

bool JsonCursor::Skip(int depth) {
  std::string_view ignored;
  bool flag = false;
  switch (Next()) {
    case '"': return Text(ignored);
    case '{': return depth < kDepthMax && Members([&](std::string_view) { return Skip(depth + 1); });
    case '[': return depth < kDepthMax && Elements([&] { return Skip(depth + 1); });
    case 't':
    case 'f': return Flag(flag);
    case 'n': return Starts("null");
    default: return Number(ignored);
  }
}

}  // namespace hopgap::formats
