#include "loop/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "loop/strand.h"

namespace hopgap::loop {
namespace {

using ::testing::ElementsAre;

trace::Event Numbered(uint64_t n) {
  trace::Event event;
  event.rpc = n;
  return event;
}

trace::Place Named(const char* resource) {
  trace::Place place;
  place.resource = resource;
  return place;
}

std::vector<uint64_t> Numbers(std::span<const trace::Event> events) {
  std::vector<uint64_t> numbers;
  for (const trace::Event& event : events) numbers.push_back(event.rpc);
  return numbers;
}

TEST(RecorderTest, CountsWhatDoesNotFitAndKeepsWhatDoes) {
  PlaceTable places;
  Recorder recorder(2, places);
  for (uint64_t n = 1; n <= 2; ++n) recorder.Record(Numbered(n));
  EXPECT_EQ(recorder.overflowed(), 0u);
  for (uint64_t n = 3; n <= 5; ++n) recorder.Record(Numbered(n));
  EXPECT_THAT(Numbers(recorder.events()), ElementsAre(1, 2));
  EXPECT_EQ(recorder.overflowed(), 3u);
  EXPECT_EQ(recorder.capacity(), 2u);
}

TEST(RecorderTest, DrainHandsOverInOrderAndMakesRoom) {
  PlaceTable places;
  Recorder recorder(2, places);
  std::vector<uint64_t> seen;
  const auto take = [&](std::span<const trace::Event> events) {
    for (const uint64_t n : Numbers(events)) seen.push_back(n);
  };
  recorder.Record(Numbered(1));
  recorder.Record(Numbered(2));
  recorder.Drain(take);
  recorder.Record(Numbered(3));
  EXPECT_EQ(recorder.most(), 2u);
  recorder.Drain(take);
  recorder.Drain(take);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_EQ(recorder.overflowed(), 0u);
}

TEST(RecorderTest, ARecorderOfNothingOverflowsAtOnce) {
  PlaceTable places;
  Recorder recorder(0, places);
  recorder.Record(Numbered(1));
  EXPECT_EQ(recorder.overflowed(), 1u);
}

TEST(RecorderTest, RecordersShareTheNumbersOfTheirPlaces) {
  PlaceTable places;
  Recorder client(1, places), broker(1, places);
  EXPECT_EQ(client.AddPlace(Named("a")), 0);
  EXPECT_EQ(broker.AddPlace(Named("b")), 1);
  EXPECT_EQ(places.Snapshot()[0].resource, "a");
  EXPECT_EQ(places.Snapshot()[1].resource, "b");
}

TEST(PlaceTableTest, WhatDoesNotFitSharesTheLastPlace) {
  PlaceTable places;
  for (size_t i = 0; i < PlaceTable::kPlacesMax - 1; ++i) places.Add(Named("mine"));
  EXPECT_EQ(places.shared(), 0u);
  EXPECT_EQ(places.Add(Named("x")), PlaceTable::kPlacesMax - 1);
  EXPECT_EQ(places.Add(Named("y")), PlaceTable::kPlacesMax - 1);
  EXPECT_EQ(places.shared(), 2u);
  EXPECT_EQ(places.Snapshot().size(), PlaceTable::kPlacesMax);
  EXPECT_EQ(places.Snapshot().back().resource, "(others)");
}

// The rule that makes a recorder safe without a lock of its own.
TEST(RecorderTest, TasksOfOneStrandMayRecordFromManyThreads) {
  PlaceTable places;
  Recorder recorder(4'000, places);
  Strand strand;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 1'000; ++i) strand.Post([&, i] { recorder.Record(Numbered(i)); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  strand.WaitIdle();
  EXPECT_EQ(recorder.events().size(), 4'000u);
}

}  // namespace
}  // namespace hopgap::loop
