#include "client/ordered_bundles.h"

#include <absl/strings/str_cat.h>

#include "base/check.h"

namespace hopgap::client {

OrderedBundles::Keys::iterator OrderedBundles::Find(std::string_view key) {
  const auto found = keys_.find(key);
  HOPGAP_CHECK(found != keys_.end(), "a bundle of a key that is not known");
  return found;
}

absl::Status OrderedBundles::Add(Instant now, std::string_view key, BundledMessage message, size_t size) {
  auto found = keys_.find(key);
  if (found != keys_.end() && found->second.paused) return PausedStatus(key);
  if (size > options_.bundler.bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("publisher: a message of ", size, " bytes does not fit into one ",
                                                   "request of ", options_.bundler.bytes_max));
  }
  if (found == keys_.end()) {
    if (keys_.size() >= options_.keys_max) {
      return absl::ResourceExhaustedError(absl::StrCat("publisher: ", keys_.size(),
                                                       " ordering keys have messages waiting or are paused, the limit ",
                                                       "is ", options_.keys_max, "; resume paused keys"));
    }
    found = keys_.emplace(std::string(key), Key(Bundler(model_, options_.bundler))).first;
  }
  HOPGAP_CHECK(found->second.bundler.Add(now, std::move(message), size), "its size was looked at");
  Aim(found);
  return absl::OkStatus();
}

void OrderedBundles::Close(Instant now) {
  for (auto key = keys_.begin(); key != keys_.end(); ++key) {
    key->second.bundler.Close(now);
    Aim(key);
  }
}

// While a bundle is on its way the next one fills up, whatever its delay.
void OrderedBundles::Aim(Keys::iterator key) {
  Key& state = key->second;
  if (state.due) due_.erase({*state.due, key->first});
  state.due = state.on_its_way ? std::nullopt : state.bundler.NextDeadline(true);
  if (state.due) due_.emplace(*state.due, key->first);
}

std::optional<OrderedBundles::Ready> OrderedBundles::TakeReady(Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto key = Find(due_.begin()->second);
    key->second.bundler.OnDeadline(now);
    std::optional<Bundle> bundle = key->second.bundler.TakeReady(now);
    key->second.on_its_way = bundle.has_value();
    Aim(key);
    if (bundle) return Ready{key->first, *std::move(bundle)};
  }
  return std::nullopt;
}

Bundle OrderedBundles::Done(std::string_view name, const absl::Status& status) {
  const auto key = Find(name);
  HOPGAP_CHECK(key->second.on_its_way, "a bundle that was not on its way");
  key->second.on_its_way = false;
  Bundle failed;
  if (!status.ok()) {
    key->second.paused = status.ToString();
    failed = key->second.bundler.TakeAll();
  }
  Aim(key);
  if (status.ok() && !key->second.due) keys_.erase(key);
  return failed;
}

std::vector<std::string> OrderedBundles::PausedKeys() const {
  std::vector<std::string> names;
  for (const auto& [name, key] : keys_) {
    if (key.paused) names.push_back(name);
  }
  return names;
}

absl::Status OrderedBundles::Resume(std::string_view name) {
  const auto key = keys_.find(name);
  if (key == keys_.end() || !key->second.paused) {
    return absl::NotFoundError(absl::StrCat("publisher: ordering key '", std::string(name), "' is not paused"));
  }
  keys_.erase(key);  // nothing waits there
  return absl::OkStatus();
}

absl::Status OrderedBundles::PausedStatus(std::string_view name) const {
  return absl::FailedPreconditionError(
      absl::StrCat("publisher: ordering key '", std::string(name), "' is paused since a message of it failed: ",
                   keys_.find(name)->second.paused.value(), "; resume the key to publish on it again"));
}

std::optional<Instant> OrderedBundles::NextDeadline() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace hopgap::client
