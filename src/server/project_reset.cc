#include "server/project_reset.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::server {
namespace {

using pubsub::Method;

constexpr int32_t kPage = 1000;
constexpr uint32_t kItems = 1, kNextPageToken = 2, kName = 1;

// The first text of a message, which is the name of every resource.
std::string NameIn(std::string_view resource) {
  pubsub::WireReader reader(resource);
  while (reader.Next()) {
    if (reader.field().Is(kName, pubsub::WireType::kBytes)) return std::string(reader.field().bytes);
  }
  return {};
}

absl::StatusOr<std::vector<std::string>> NamesOf(Method list, const std::string& project, LocalCalls& broker) {
  std::vector<std::string> names;
  pubsub::ListRequest request{.parent = StrCat("projects/", project), .page_size = kPage, .page_token = {}};
  do {
    const absl::StatusOr<pubsub::Bytes> page = broker.Ask(list, request);
    if (!page.ok()) return page.status();
    request.page_token.clear();
    pubsub::WireReader reader(page->view());
    while (reader.Next()) {
      if (reader.field().Is(kItems, pubsub::WireType::kBytes)) names.push_back(NameIn(reader.field().bytes));
      if (reader.field().Is(kNextPageToken, pubsub::WireType::kBytes)) request.page_token = reader.field().bytes;
    }
  } while (!request.page_token.empty());
  return names;
}

}  // namespace

absl::StatusOr<uint64_t> ResetProject(const std::string& project, LocalCalls& broker) {
  uint64_t deleted = 0;
  for (const auto& [list, remove] : {std::pair{Method::kListSubscriptions, Method::kDeleteSubscription},
                                     {Method::kListSnapshots, Method::kDeleteSnapshot},
                                     {Method::kListTopics, Method::kDeleteTopic}}) {
    const absl::StatusOr<std::vector<std::string>> names = NamesOf(list, project, broker);
    if (absl::IsUnimplemented(names.status())) continue;  // so there are none
    if (!names.ok()) return names.status();
    std::vector<LocalRequest> requests;
    requests.reserve(names->size());
    for (const std::string& name : *names) requests.push_back({remove, pubsub::NameRequest{.name = name}});
    for (const absl::StatusOr<pubsub::Bytes>& answer : broker.AskAll(std::move(requests))) {
      // Somebody else may have been quicker.
      if (!answer.ok() && !absl::IsNotFound(answer.status())) return answer.status();
      deleted += answer.ok() ? 1 : 0;
    }
  }
  return deleted;
}

}  // namespace hopgap::server
