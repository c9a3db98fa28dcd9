#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/dialect.h"
#include "trace/packing.h"
#include "trace/sorted_runs.h"
#include "trace/span.h"

namespace hopgap::trace {

// What is asked of every span, before the rest of it is unpacked.
struct SpanHead {
  SortedRuns::Key key;  // trace, span, and the end as an order
  uint64_t parent = 0;
  WallTime start{};
  Role role = Role::kOther;
  Client client = Client::kUnknown;
  bool whole = false;  // it has the attribute hopgap.whole
  bool linked = false;
  WallTime end() const;
};
SortedRuns::Key KeyOf(const Span& span);

// Spans as few bytes, of which this knows the words: names, keys and whatever
// else is said again and again are numbers. A span in memory takes ten times as
// much.
//
// Not thread-safe. What it packed, only it can unpack.
//
// Texts are kept fit for a terminal (Printable()), at most kTextBytesMax of each.
inline constexpr size_t kTextBytesMax = 1000;
class SpanPacker {
 public:
  // Beyond these, and above that length, texts are written out.
  static constexpr size_t kWordsMax = 50'000, kWordBytesMax = 200;
  // A key with more values than these has one for each message.
  static constexpr uint32_t kValuesMax = 500;

  void Pack(const Span& span, const SpanHead& head, std::string& out);

  // The front of what was packed. False if the bytes were damaged.
  static bool UnpackHead(const SortedRuns::Key& key, std::string_view bytes, SpanHead& head);

  // Everything, into `span`, whose memory is used again. False if the bytes were damaged.
  bool Unpack(const SortedRuns::Key& key, std::string_view bytes, Span& span) const;
  // Its links alone.
  bool UnpackLinks(const SortedRuns::Key& key, std::string_view bytes, std::vector<SpanLink>& links) const;

  void PutAttributes(const Attributes& attributes, PackWriter& to);
  void TakeAttributes(PackReader& from, Attributes& out) const;

 private:
  static SpanHead TakeHead(const SortedRuns::Key& key, PackReader& from);
  void PutText(std::string_view text, PackWriter& to);
  size_t PutWord(std::string_view text, PackWriter& to);
  void PutValue(size_t key, const AttributeValue& value, PackWriter& to);
  std::string_view TakeText(PackReader& from) const;
  void TakeLinks(PackReader& from, std::vector<SpanLink>& links) const;

  absl::flat_hash_map<std::string, uint32_t> numbers_;  // from 1
  std::vector<std::unique_ptr<const std::string>> words_;
  std::vector<uint32_t> values_;  // by word: how many values were new to it
};

}  // namespace hopgap::trace
