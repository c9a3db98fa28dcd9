#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/process_flags.h"
#include "lab/arm.h"
#include "lab/options.h"
#include "remote/remote.h"

namespace hopgap::cli {
namespace {

constexpr Duration kReachable{std::chrono::seconds{10}};
constexpr int kHopsMax = 100;

struct SetupFlags {
  BrokerFlags target;
  std::string project, prefix;
  std::vector<std::string> arms = {"std", "eos"};
  int hops = 3;
  bool remove = false;
};

absl::StatusOr<lab::Options> Chains(const SetupFlags& flags, const remote::Target& target) {
  lab::Options options;
  const std::string& project = flags.project.empty() ? target.project : flags.project;
  if (project.empty()) return absl::InvalidArgumentError("--project: is required");
  options.groups.push_back({.name = "all", .project = project, .offset = Duration{0}});
  options.hops = flags.hops;
  options.resource_prefix = flags.prefix;
  for (const std::string& text : flags.arms) {
    absl::StatusOr<lab::ArmSpec> arm = lab::ParseArm(text, "go");
    if (!arm.ok()) return arm.status();
    options.arms.push_back(*std::move(arm));
  }
  return options;
}

absl::Status Make(remote::Connection& connection, const lab::Resource& resource) {
  if (resource.subscription.empty()) return connection.CreateTopic(resource.topic);
  pubsub::Subscription subscription;
  subscription.name = resource.subscription;
  subscription.topic = resource.topic;
  subscription.enable_exactly_once_delivery = resource.exactly_once;
  return connection.CreateSubscription(subscription);
}

absl::Status Remove(remote::Connection& connection, const lab::Resource& resource) {
  return resource.subscription.empty() ? connection.DeleteTopic(resource.topic)
                                       : connection.DeleteSubscription(resource.subscription);
}

int SetupCommand(const SetupFlags& flags) {
  absl::StatusOr<remote::Target> target = flags.target.Finish();
  if (!target.ok()) return Fail(kBadConfiguration, MessageOf(target.status()));
  absl::StatusOr<lab::Options> chains = Chains(flags, *target);
  if (!chains.ok()) return Fail(kBadConfiguration, MessageOf(chains.status()));
  if (absl::Status status = remote::Authorize(*target); !status.ok())
    return Fail(CodeOfTarget(status), MessageOf(status));
  remote::Remote remote;
  const std::unique_ptr<remote::Connection> connection = remote.Connect(*target);
  if (absl::Status status = connection->WaitReady(kReachable); !status.ok()) {
    return Fail(kUnreachable, MessageOf(status));
  }
  std::vector<lab::Resource> resources = lab::ResourcesOf(*chains);
  if (flags.remove) std::reverse(resources.begin(), resources.end());
  int made = 0, there = 0;
  for (const lab::Resource& resource : resources) {
    const absl::Status status = flags.remove ? Remove(*connection, resource) : Make(*connection, resource);
    const absl::StatusCode fine = flags.remove ? absl::StatusCode::kNotFound : absl::StatusCode::kAlreadyExists;
    if (!status.ok() && status.code() != fine) {
      const std::string& name = resource.subscription.empty() ? resource.topic : resource.subscription;
      return Fail(CodeOfTarget(status), StrCat(name, ": ", MessageOf(status)));
    }
    ++(status.ok() ? made : there);
  }
  std::printf("%d topics and subscriptions %s, %d %s\n", made, flags.remove ? "removed" : "made", there,
              flags.remove ? "were gone already" : "were there already");
  return kOk;
}

}  // namespace

void AddSetup(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<SetupFlags>();
  CLI::App* command = app.add_subcommand("setup", "make the topics and subscriptions of chains, or remove them");
  command->group("Deploy");
  flags->target.Add(*command);
  command->add_option("--project", flags->project, "whose topics and subscriptions (default: the target's)");
  command->add_option("--prefix", flags->prefix, "of their names: PREFIXarm-hopN, PREFIXarm-hopN-sub");
  command->add_option("--arm", flags->arms, "a chain: std, eos, or NAME:KIND")->capture_default_str();
  command->add_option("--hops", flags->hops, "hops of each chain")
      ->capture_default_str()
      ->check(CLI::Range(1, kHopsMax));
  command->add_flag("--remove", flags->remove, "remove them instead");
  commands.push_back({command, [flags] { return SetupCommand(*flags); }, false});
}

}  // namespace hopgap::cli
