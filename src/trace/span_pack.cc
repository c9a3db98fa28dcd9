#include "trace/span_pack.h"

#include <bit>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace hopgap::trace {
namespace {

// So that unsigned keys are in the order of instants.
constexpr uint64_t kSign = uint64_t{1} << 63;

int64_t Nanos(WallTime at) { return at.time_since_epoch().count(); }
WallTime AtNanos(int64_t nanos) { return WallTime{Duration{nanos}}; }

constexpr uint8_t kHasParent = 1, kIsWhole = 2, kHasLinks = 4, kHasTexts = 8;

// Of an attribute's value, and of a text: its number follows, or it is written out.
enum class Kind : uint8_t { kText, kInteger, kFalse, kTrue, kDouble };

void Assign(AttributeValue& value, std::string_view text) {
  if (std::string* old = std::get_if<std::string>(&value)) {
    old->assign(text);
  } else {
    value.emplace<std::string>(text);
  }
}

// What is kept is fit to be printed. A little longer than the limit is a text that was cut.
bool Clean(std::string_view text) { return text.size() <= kTextBytesMax + 3 && IsPrintable(text); }

}  // namespace

WallTime SpanHead::end() const { return AtNanos(static_cast<int64_t>(key.order ^ kSign)); }

SortedRuns::Key KeyOf(const Span& span) {
  return {span.trace_hi, span.trace_lo, span.span, static_cast<uint64_t>(Nanos(span.end)) ^ kSign};
}

// The number of a word, or 0: then the text follows.
size_t SpanPacker::PutWord(std::string_view text, PackWriter& to) {
  const auto found = numbers_.find(ToAbsl(text));
  size_t number = found == numbers_.end() ? 0 : found->second;
  if (number == 0 && !Clean(text)) return PutWord(Printable(text, kTextBytesMax), to);
  if (number == 0 && text.size() <= kWordBytesMax && words_.size() < kWordsMax) {
    words_.push_back(std::make_unique<const std::string>(text));
    values_.push_back(0);
    number = words_.size();
    numbers_.emplace(*words_.back(), static_cast<uint32_t>(number));
  }
  to.Word(number);
  if (number == 0) to.Text(text);
  return number;
}

void SpanPacker::PutText(std::string_view text, PackWriter& to) {
  to.Word(0);
  Clean(text) ? to.Text(text) : to.Text(Printable(text, kTextBytesMax));
}

std::string_view SpanPacker::TakeText(PackReader& from) const {
  const uint64_t number = from.Word();
  if (number == 0) return from.Text();
  return number <= words_.size() ? std::string_view(*words_[number - 1]) : std::string_view{};
}

void SpanPacker::PutValue(size_t key, const AttributeValue& value, PackWriter& to) {
  if (const std::string* text = std::get_if<std::string>(&value)) {
    to.Byte(static_cast<uint8_t>(Kind::kText));
    if (key == 0 || values_[key - 1] >= kValuesMax) return PutText(*text, to);
    const size_t before = words_.size();
    PutWord(*text, to);
    if (words_.size() > before) ++values_[key - 1];
  } else if (const int64_t* number = std::get_if<int64_t>(&value)) {
    to.Byte(static_cast<uint8_t>(Kind::kInteger));
    to.Signed(*number);
  } else if (const bool* flag = std::get_if<bool>(&value)) {
    to.Byte(static_cast<uint8_t>(*flag ? Kind::kTrue : Kind::kFalse));
  } else {
    to.Byte(static_cast<uint8_t>(Kind::kDouble));
    to.Id(std::bit_cast<uint64_t>(std::get<double>(value)));
  }
}

void SpanPacker::PutAttributes(const Attributes& attributes, PackWriter& to) {
  to.Word(attributes.size());
  for (const auto& [key, value] : attributes) PutValue(PutWord(key, to), value, to);
}

void SpanPacker::TakeAttributes(PackReader& from, Attributes& out) const {
  out.resize(from.Count());
  for (auto& [key, value] : out) {
    key.assign(TakeText(from));
    switch (static_cast<Kind>(from.Byte())) {
      case Kind::kText: Assign(value, TakeText(from)); break;
      case Kind::kInteger: value = from.Signed(); break;
      case Kind::kFalse: value = false; break;
      case Kind::kTrue: value = true; break;
      default: value = std::bit_cast<double>(from.Id());
    }
  }
}

void SpanPacker::TakeLinks(PackReader& from, std::vector<SpanLink>& links) const {
  links.resize(from.Count());
  for (SpanLink& link : links) {
    link.trace_hi = from.Id();
    link.trace_lo = from.Id();
    link.span = from.Id();
    TakeAttributes(from, link.attributes);
  }
}

void SpanPacker::Pack(const Span& span, const SpanHead& head, std::string& out) {
  PackWriter to(out);
  const bool texts = span.status != 0 || !span.status_message.empty() || !span.language.empty();
  to.Byte(static_cast<uint8_t>((span.parent != 0 ? kHasParent : 0) | (head.whole ? kIsWhole : 0) |
                               (!span.links.empty() ? kHasLinks : 0) | (texts ? kHasTexts : 0)));
  to.Byte(static_cast<uint8_t>(head.role));
  to.Byte(static_cast<uint8_t>(static_cast<int>(head.client) << 4 | static_cast<int>(span.kind)));
  if (span.parent != 0) to.Id(span.parent);
  to.Signed(Difference(Nanos(span.end), Nanos(span.start)));
  if (!span.links.empty()) {
    to.Word(span.links.size());
    for (const SpanLink& link : span.links) {
      to.Id(link.trace_hi);
      to.Id(link.trace_lo);
      to.Id(link.span);
      PutAttributes(link.attributes, to);
    }
  }
  for (const std::string* text : {&span.name, &span.service, &span.scope, &span.scope_version, &span.host}) {
    PutWord(*text, to);
  }
  if (texts) {
    to.Signed(span.status);
    PutText(span.status_message, to);
    PutWord(span.language, to);
  }
  PutAttributes(span.attributes, to);
  to.Word(span.events.size());
  for (const SpanEvent& event : span.events) {
    to.Signed(Difference(Nanos(event.at), Nanos(span.start)));
    PutWord(event.name, to);
    PutAttributes(event.attributes, to);
  }
}

SpanHead SpanPacker::TakeHead(const SortedRuns::Key& key, PackReader& from) {
  SpanHead head;
  head.key = key;
  const uint8_t flags = from.Byte();
  head.whole = (flags & kIsWhole) != 0;
  head.linked = (flags & kHasLinks) != 0;
  head.role = static_cast<Role>(from.Byte());
  head.client = static_cast<Client>(from.Byte() >> 4);
  if ((flags & kHasParent) != 0) head.parent = from.Id();
  head.start = AtNanos(Difference(Nanos(head.end()), from.Signed()));
  return head;
}

bool SpanPacker::UnpackHead(const SortedRuns::Key& key, std::string_view bytes, SpanHead& head) {
  PackReader from(bytes);
  head = TakeHead(key, from);
  return !from.failed() && head.role <= Role::kBroker && static_cast<int>(head.client) < kClients;
}

bool SpanPacker::UnpackLinks(const SortedRuns::Key& key, std::string_view bytes, std::vector<SpanLink>& links) const {
  PackReader from(bytes);
  if (TakeHead(key, from).linked) {
    TakeLinks(from, links);
  } else {
    links.clear();
  }
  return !from.failed();
}

bool SpanPacker::Unpack(const SortedRuns::Key& key, std::string_view bytes, Span& span) const {
  PackReader from(bytes);
  const SpanHead head = TakeHead(key, from);
  span.trace_hi = key.hi;
  span.trace_lo = key.lo;
  span.span = key.span;
  span.parent = head.parent;
  span.start = head.start;
  span.end = head.end();
  span.kind = static_cast<SpanKind>(static_cast<uint8_t>(bytes.size() < 3 ? 0 : bytes[2]) & 15);
  if (head.linked) {
    TakeLinks(from, span.links);
  } else {
    span.links.clear();
  }
  for (std::string* text : {&span.name, &span.service, &span.scope, &span.scope_version, &span.host}) {
    text->assign(TakeText(from));
  }
  const bool texts = !bytes.empty() && (static_cast<uint8_t>(bytes[0]) & kHasTexts) != 0;
  span.status = texts ? static_cast<int>(from.Signed()) : 0;
  span.status_message.assign(texts ? TakeText(from) : std::string_view{});
  span.language.assign(texts ? TakeText(from) : std::string_view{});
  TakeAttributes(from, span.attributes);
  span.events.resize(from.Count());
  for (SpanEvent& event : span.events) {
    event.at = AtNanos(Sum(Nanos(span.start), from.Signed()));
    event.name.assign(TakeText(from));
    TakeAttributes(from, event.attributes);
  }
  return !from.failed() && from.left() == 0;
}

}  // namespace hopgap::trace
