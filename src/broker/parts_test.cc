// The parts that stand by themselves.

#include <random>
#include <set>

#include "broker/commits.h"
#include "broker/interval_set.h"
#include "broker/lease_table.h"
#include "broker/sequence_window.h"
#include "broker/topic_log.h"
#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AckIdTest, RealisticIdsAreShortAndComeBack) {
  struct Case {
    AckId id;
    size_t length_max;
  };
  for (const Case& c : {Case{{0, 0, 0}, 10}, Case{{1, 0, 1}, 10}, Case{{5, 127, 1}, 10}, Case{{300, 2'000'000, 3}, 16},
                        Case{{100'000, 1'000'000'000'000, 100}, 24}, Case{{~0ull, ~0ull, ~0u}, 40}}) {
    const std::string text = FormatAckId(kKey, c.id);
    EXPECT_LE(text.size(), c.length_max);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    EXPECT_EQ(ParseAckId(kKey, text), c.id);
    EXPECT_EQ(ParseAckId({11, 23}, text), std::nullopt) << "another key";
  }
}

TEST(AckIdTest, NothingElseIsTaken) {
  const std::string text = FormatAckId(kKey, {7, 1234, 2});
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(ParseAckId(kKey, text.substr(0, i)), std::nullopt);
    for (char c : std::string("Aq9_-=+/ ")) {
      std::string changed = text;
      changed[i] = c;
      if (changed != text) {
        EXPECT_EQ(ParseAckId(kKey, changed), std::nullopt) << changed;
      }
    }
  }
  for (const std::string& bad : {std::string(), std::string(200, 'A'), text + "A", text + "=", std::string("====")}) {
    EXPECT_EQ(ParseAckId(kKey, bad), std::nullopt);
  }
}

TEST(IntervalSetTest, AgreesWithASetAndKeepsOnlyHoles) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    IntervalSet intervals;
    std::set<uint64_t> set;
    for (int i = 0; i < 500; ++i) {
      const uint64_t number = random() % 300;
      EXPECT_EQ(intervals.Insert(number), set.insert(number).second);
    }
    size_t runs = 0;
    for (uint64_t number = 0; number < 302; ++number) {
      EXPECT_EQ(intervals.Contains(number), set.contains(number)) << number;
      runs += set.contains(number) && (number == 0 || !set.contains(number - 1));
    }
    EXPECT_EQ(intervals.intervals(), runs);
  }
}

constexpr Sequence kA{1}, kB{2}, kC{3};
using E = LeaseTable::Expired;

TEST(LeaseTableTest, TakeExpiredOrdersByDeadlineThenSequence) {
  LeaseTable leases;
  leases.Grant(kB, kStart, 5s);
  leases.Grant(kA, kStart, 5s);
  leases.Grant(kC, kStart, 4s);
  EXPECT_EQ(leases.NextDeadline(), kStart + 4s);
  EXPECT_THAT(leases.TakeExpired(kStart + 4s - 1ns), IsEmpty());
  EXPECT_THAT(leases.TakeExpired(kStart + 5s), ElementsAre(E{kStart + 4s, kC}, E{kStart + 5s, kA}, E{kStart + 5s, kB}));
  EXPECT_EQ(leases.NextDeadline(), std::nullopt);
}

// If the calls disagreed on when a lease ends, a message could be redelivered
// and still be acked by its first receiver.
TEST(LeaseTableTest, EveryCallAgreesOnWhenALeaseHasEnded) {
  struct Case {
    const char* name;
    Duration after_grant;
    absl::StatusCode want;
  };
  for (const Case& c : {Case{"just before", 10s - 1ns, kOk}, Case{"at the deadline", 10s, kNotFound},
                        Case{"long after", 1h, kNotFound}}) {
    SCOPED_TRACE(c.name);
    const Instant now = kStart + c.after_grant;
    LeaseTable leases;
    for (Sequence id : {kA, kB}) leases.Grant(id, kStart, 10s);
    EXPECT_EQ(leases.DeadlineOf(kA, now).has_value(), c.want == kOk);
    EXPECT_EQ(leases.End(kA, now).code(), c.want);
    EXPECT_EQ(leases.Extend(kB, now, now + 30s).code(), c.want);
  }
}

TEST(LeaseTableTest, AgreesWithAMapThroughExtensionsAndEnds) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LeaseTable leases;
    std::map<Sequence, Instant> want;
    Instant now = kStart;
    for (int i = 0; i < 3000; ++i) {
      const Sequence id = random() % 40;
      const Duration length{1 + static_cast<int64_t>(random() % 50)};
      if (!want.contains(id)) {
        leases.Grant(id, now, length);
        want[id] = now + length;
      } else if (random() % 3 == 0) {
        EXPECT_TRUE(leases.End(id, now).ok());
        want.erase(id);
      } else {
        EXPECT_TRUE(leases.Extend(id, now, now + length).ok());
        want[id] = now + length;
      }
      now += Duration{static_cast<int64_t>(random() % 4)};
      std::set<std::pair<Instant, Sequence>> expired;
      for (const auto& [sequence, deadline] : want) {
        if (deadline <= now) expired.emplace(deadline, sequence);
      }
      std::vector<E> order;
      for (const auto& [deadline, sequence] : expired) order.push_back({deadline, sequence});
      EXPECT_EQ(leases.TakeExpired(now), order);
      for (const auto& [deadline, sequence] : expired) want.erase(sequence);
      std::optional<Instant> next;
      for (const auto& [sequence, deadline] : want) next = std::min(next.value_or(kNever), deadline);
      ASSERT_EQ(leases.NextDeadline(), next);
      ASSERT_EQ(leases.size(), want.size());
    }
  }
}

TEST(LeaseTableDeathTest, GrantingTwiceIsAProgrammingError) {
  LeaseTable leases;
  leases.Grant(kA, kStart, 10s);
  EXPECT_DEATH(leases.Grant(kA, kStart, 10s), "already leased");
  EXPECT_DEATH(leases.Grant(kB, kStart, 0s), "must have a length");
  EXPECT_DEATH((void)leases.Extend(kA, kStart, kStart), "into the past");
}

TEST(SequenceWindowTest, AgreesWithAMapWhateverIsRemoved) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    SequenceWindow<uint64_t> window;
    std::map<uint64_t, uint64_t> want;
    uint64_t next = random() % 100;
    for (int i = 0; i < 4000; ++i) {
      if (random() % 2 == 0) {
        next += 1 + (random() % 50 == 0 ? random() % 200 : 0);
        window.Add(next, next * 3);
        want[next] = next * 3;
      } else if (!want.empty()) {
        const auto victim =
            std::next(want.begin(), static_cast<std::ptrdiff_t>(random() % std::min<size_t>(want.size(), 5)));
        window.Remove(victim->first);
        want.erase(victim);
      }
      ASSERT_EQ(window.size(), want.size());
    }
    std::map<uint64_t, uint64_t> got;
    window.ForEach([&](uint64_t sequence, uint64_t& value) { got[sequence] = value; });
    EXPECT_EQ(got, want);
    for (uint64_t sequence = 0; sequence <= next + 100; ++sequence) {
      const uint64_t* found = window.Find(sequence);
      ASSERT_EQ(found != nullptr, want.contains(sequence));
      if (found != nullptr) {
        EXPECT_EQ(*found, want[sequence]);
      }
    }
  }
}

TEST(TopicLogTest, AMessageStaysUntilTheLastReferenceIsGone) {
  Retained retained;
  {
    TopicLog log(retained);
    const pubsub::Message message = pubsub::Message::Make("body", {});
    EXPECT_EQ(log.Append({.message = message, .key = {}, .draw = {}, .id = 1, .references = 2}), 0u);
    EXPECT_EQ(log.Append({.message = message, .key = {}, .draw = {}, .id = 2, .references = 0}), 1u);
    EXPECT_EQ(log.next(), 2u);
    EXPECT_EQ(log.Find(1), nullptr);
    EXPECT_EQ(retained.memory, message.wire_size());
    log.Release(0);
    EXPECT_NE(log.Find(0), nullptr);
    log.Release(0);
    EXPECT_EQ(log.Find(0), nullptr);
    EXPECT_EQ(retained.memory, 0u);
    log.Append({.message = message, .key = {}, .draw = {}, .id = 3, .references = 1});
  }
  EXPECT_EQ(retained.memory, 0u) << "the log took it along";
}

// The journal's two writers tell of their groups in any order: first of the copy, then of what was copied.
TEST(TopicLogTest, ABodyStaysWhereItWasCopiedWhicheverIsToldFirst) {
  for (const bool copy_first : {true, false}) {
    Retained retained;
    TopicLog log(retained);
    const pubsub::Message message = pubsub::Message::Make("body", {});
    log.Append({.message = message, .key = {}, .draw = {}, .references = 1});
    for (const uint64_t segment : {copy_first ? 9u : 7u, copy_first ? 7u : 9u}) {
      log.MoveToStore(0, message, {.segment = segment, .frame = 64, .offset = 3});
    }
    EXPECT_EQ(log.Find(0)->place.segment, 9u);
    EXPECT_EQ(retained.stored.Of(7), 0u);
    EXPECT_EQ(retained.stored.Of(9), message.wire_size());
  }
}

TEST(TopicLogTest, ABodyInASegmentCountsThereAndItsIndexInMemory) {
  Retained retained;
  TopicLog log(retained);
  const pubsub::Message message = pubsub::Message::Make("body", {});
  for (uint64_t id = 0; id < 3; ++id)
    log.Append({.message = message, .key = {}, .draw = {}, .id = id, .references = 1});
  log.MoveToStore(0, message, {.segment = 7, .frame = 64, .offset = 3});
  log.MoveToStore(1, message, {.segment = 7, .frame = 64, .offset = 9});
  log.MoveToStore(9, message, {.segment = 7, .frame = 64, .offset = 9});
  EXPECT_EQ(retained.memory, message.wire_size() + 2 * Retained::kIndexBytes);
  EXPECT_EQ(retained.stored.Of(7), 2 * message.wire_size());
  log.MoveToStore(1, message, {.segment = 8, .frame = 64, .offset = 0});
  log.Release(0);
  log.Release(2);
  EXPECT_EQ(retained.stored.Of(7), 0u);
  EXPECT_EQ(retained.stored.total(), message.wire_size());
  EXPECT_EQ(retained.memory, Retained::kIndexBytes);
}

TEST(SequenceWindowTest, WhatIsRebuiltMayComeInAnyOrderAndBeVisitedFromAnywhere) {
  SequenceWindow<int> window;
  for (const uint64_t sequence : {500u, 40u, 41u, 700u, 3u}) window.Put(sequence, static_cast<int>(sequence));
  const auto from = [&](uint64_t first, size_t count) {
    std::vector<int> seen;
    window.VisitFrom(first, [&](uint64_t, int value) {
      seen.push_back(value);
      return seen.size() < count;
    });
    return seen;
  };
  EXPECT_THAT(from(0, 9), ElementsAre(3, 40, 41, 500, 700));
  EXPECT_THAT(from(41, 2), ElementsAre(41, 500));
  EXPECT_THAT(from(701, 9), IsEmpty());
  for (const uint64_t sequence : {3u, 500u, 40u}) window.Remove(sequence);
  window.Add(701, 701);
  EXPECT_THAT(from(0, 9), ElementsAre(41, 700, 701));
  EXPECT_EQ(window.size(), 3u);
}

TEST(CommitsTest, OneTokenAnswersForAllBeforeItAndOnlyOnce) {
  Commits commits(100);
  Actions out;
  std::string order;
  const auto note = [&order](const char* name) { return [&order, name](Instant, Actions&) { order += name; }; };
  commits.AfterAwaited(kStart, note("0"), out);
  commits.Persist({TopicDeleted{1}}, note("a"), out);
  commits.Persist({TopicDeleted{2}}, nullptr, out);
  commits.AfterAwaited(kStart, note("b"), out);
  commits.Persist({TopicDeleted{3}}, note("c"), out);
  EXPECT_EQ(order, "0");
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(out[0].awaited);
  EXPECT_FALSE(out[1].awaited);
  commits.OnPersisted(kStart, out[1].token, out);
  EXPECT_EQ(order, "0ab") << "a lazy group is not what waits";
  commits.OnPersisted(kStart, out[0].token, out);
  commits.OnPersisted(kStart, out[2].token, out);
  EXPECT_EQ(order, "0abc");
  EXPECT_EQ(commits.pending(), 0u);
}

}  // namespace
}  // namespace hopgap::broker
