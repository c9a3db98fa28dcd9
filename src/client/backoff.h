#pragma once

#include <cstdint>

#include "base/time.h"

namespace hopgap::client {

// How far the pauses of one kind of retry grow.
struct BackoffShape {
  Duration initial{0};
  int64_t factor_tenths = 20;  // 20: each pause may be twice the one before
  Duration max{0};
};

// Pauses between the attempts of one operation, with full jitter: the n-th is
// uniform in (0, min(initial * factor^n, max)]. A pause is a function of the
// key and n alone, so that retries of others never change it.
class Backoff {
 public:
  Backoff() = default;
  Backoff(BackoffShape shape, uint64_t key) : shape_(shape), key_(key), limit_(shape.initial) {}

  Duration Pause();
  void Reset();

 private:
  BackoffShape shape_;
  uint64_t key_ = 0;
  uint64_t drawn_ = 0;  // never reset: a later operation must not repeat the jitter of this one
  Duration limit_{0};
};

}  // namespace hopgap::client
