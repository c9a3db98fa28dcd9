#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/fault_plan.h"
#include "sim/net.h"

namespace hopgap::sim {

// An actor of the fault world. It draws what it does from the seed, and behaves
// well once the net is calm: everything then drains.
class Client {
 public:
  virtual ~Client() = default;
  virtual void Start() = 0;
};

// Those of the plan: publishers, subscribers, and who makes and deletes things
// in the middle. `plan` and `net` outlive them.
std::vector<std::unique_ptr<Client>> MakeClients(const FaultPlan& plan, Net& net);

// Small state machines that speak to the broker as no library would.
std::unique_ptr<Client> MakeSimpleSubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor,
                                             Net& net);
// The same clients that run live, in their place: client::Subscriber, client::Publisher.
std::unique_ptr<Client> MakeLibrarySubscriber(const FaultPlan& plan, const SubscriberPlan& its, uint64_t actor,
                                              Net& net);
std::unique_ptr<Client> MakeLibraryPublisher(const FaultPlan& plan, const PublisherPlan& its, uint64_t actor, Net& net);

// Seeks, updates and detaches subscriptions in the middle.
std::unique_ptr<Client> MakeOperator(const FaultPlan& plan, uint64_t actor, Net& net);

// The body of one message: nobody else's.
std::string BodyOf(uint64_t actor, uint64_t number, size_t size);

}  // namespace hopgap::sim
