#pragma once

#include <cstdint>
#include <string_view>

#include "trace/span.h"

// The official clients (and the messaging conventions that others follow) say the
// same things in different words. Everything below this file reads one of them:
// the Go library's (vocabulary.h).
namespace hopgap::trace {

enum class Client : uint8_t { kUnknown, kGo1, kGo2, kJava, kPython, kNode, kCpp, kConventions };
inline constexpr int kClients = 8;
std::string_view ClientName(Client client);  // "Go v2"; kConventions: "messaging conventions"

// Whose words a span is in, by its scope, else by its attributes, names and the
// language of its SDK. kUnknown: none of Pub/Sub's.
Client ClientOf(const Span& span);

enum class Role : uint8_t {
  kOther,
  kCreate,
  kPublisherPart,  // flow control, batching
  kSubscribe,
  kSubscriberPart,  // flow control, scheduler
  kProcess,
  kPublishRpc,
  kModackRpc,
  kAckRpc,
  kNackRpc,
  kServer,  // of an HTTP request: a pushed message, if its parent is a publish
  kBroker,  // of our own broker
};
inline constexpr bool IsRpc(Role role) { return role >= Role::kPublishRpc && role <= Role::kNackRpc; }

// Of a span in the Go library's words.
Role RoleOf(const Span& span);

// Puts a span into the Go library's words: its name, the names of its events, the
// keys and values of attributes. What it was called is kept in the attribute
// hopgap.original_name. Times, ids and links stay as they are.
//
// A publish or a callback that is one span and no more (the conventions) gets the
// attribute hopgap.whole: it is a create or process span that has no parts.
void Canonicalize(Span& span);

inline constexpr std::string_view kOriginalName = "hopgap.original_name";
inline constexpr std::string_view kWhole = "hopgap.whole";
inline constexpr std::string_view kInferred = "hopgap.inferred";  // on events: made from other spans' times

}  // namespace hopgap::trace
