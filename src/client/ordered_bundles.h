#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/bundler.h"
#include "client/model.h"

namespace hopgap::client {

// The bundles of messages with an ordering key: a bundler for each key, and one
// bundle of a key on its way at a time; what comes meanwhile gathers behind it.
//
// A bundle that fails for good pauses its key: what waits behind it fails at
// once, and so does what comes later, until the key is resumed. So no message
// of a key ever overtakes another, nor follows one that was lost unnoticed.
class OrderedBundles {
 public:
  struct Options {
    Bundler::Options bundler;
    size_t keys_max = 10'000;  // with messages waiting, on their way, or paused
  };
  // `model` outlives it.
  OrderedBundles(const Model& model, Options options) : model_(model), options_(options) {}

  // Not taken: FailedPrecondition (the key is paused; it names the first
  // cause), ResourceExhausted (too many keys), InvalidArgument (too large).
  absl::Status Add(Instant now, std::string_view key, BundledMessage message, size_t size);
  // Closes all open bundles (a flush).
  void Close(Instant now);

  struct Ready {
    std::string key;
    Bundle bundle;
  };
  // The next bundle that may leave; it is on its way until Done().
  std::optional<Ready> TakeReady(Instant now);
  // Returns the messages that fail with it, in order. Requires: on its way.
  Bundle Done(std::string_view key, const absl::Status& status);

  // In order of their names.
  std::vector<std::string> PausedKeys() const;
  // NotFound if the key is not paused.
  absl::Status Resume(std::string_view key);
  // Why a paused key fails what is published on it. Requires: paused.
  absl::Status PausedStatus(std::string_view key) const;

  // Of the bundle that leaves next; the caller needs no wake-up while it has no worker for it.
  std::optional<Instant> NextDeadline() const;

 private:
  struct Key {
    explicit Key(Bundler given) : bundler(std::move(given)) {}
    Bundler bundler;
    bool on_its_way = false;
    std::optional<std::string> paused;  // the first cause
    std::optional<Instant> due;         // its entry in due_
  };
  using Keys = std::map<std::string, Key, std::less<>>;

  void Aim(Keys::iterator key);
  Keys::iterator Find(std::string_view key);

  const Model& model_;
  Options options_;
  Keys keys_;
  std::set<std::pair<Instant, std::string>> due_;  // keys with a bundle that leaves then
};

}  // namespace hopgap::client
