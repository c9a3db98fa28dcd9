#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace hopgap::server {

// Closes a file descriptor once.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  int Release();
  void Reset();

 private:
  int fd_ = -1;
};

// A listening, non-blocking TCP socket; port 0 takes any free one. AlreadyExists
// if the port is in use, InvalidArgument if the host is no address of this
// machine, PermissionDenied for a port below 1024 without the right; the
// messages say what to do.
absl::StatusOr<UniqueFd> OpenListener(const std::string& host, uint16_t port);

// The port a listening socket got.
uint16_t BoundPort(int fd);

}  // namespace hopgap::server
