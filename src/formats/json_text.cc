#include "formats/json_text.h"

namespace hopgap::formats {
namespace {

bool Plain(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

// The length of the well-formed UTF-8 sequence at the start of `text`; 0 if
// there is none (overlong forms, surrogates and numbers beyond 10FFFF included).
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  const auto tail = [&byte](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    return tail(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    return tail(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(unsigned char byte, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\r': out += "\\r"; return;
    default:
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
  }
}

}  // namespace

void AppendJsonText(std::string_view text, std::string& out) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    while (at < text.size() && Plain(static_cast<unsigned char>(text[at]))) ++at;
    out.append(text, start, at - start);
    if (at == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++at;
    } else if (length == 1) {
      AppendEscaped(byte, out);
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  out += '"';
}

std::string Utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace hopgap::formats
