#pragma once

// HOPGAP_CHECK(condition) << never: it takes a text instead, so that a release
// build carries the sentence. For what only we can cause; anything the outside
// can cause is a Status. On in every build type.
namespace hopgap {
inline namespace base {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);

}  // namespace base
}  // namespace hopgap

#define HOPGAP_CHECK(condition, why)                                              \
  do {                                                                            \
    if (!(condition)) ::hopgap::CheckFailed(__FILE__, __LINE__, #condition, why); \
  } while (false)
