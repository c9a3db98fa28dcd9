#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace hopgap {

inline sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A connected socket to a port of this machine; -1 if refused.
inline int Dial(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = LoopbackAddress(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

// One TCP connection passed through, which Kill() resets: to the server, what a
// client looks like whose process was killed or whose machine went away.
class Relay {
 public:
  explicit Relay(uint16_t server_port) : server_port_(server_port) {
    sockaddr_in address = LoopbackAddress(0);
    socklen_t size = sizeof address;
    (void)!bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
    listen(listener_, 1);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    (void)!pipe(stop_);
    thread_ = std::thread([this] { Pass(); });
  }
  ~Relay() { Kill(); }

  const std::string& target() const { return target_; }
  // What the server sent. After Kill().
  const std::string& to_client() const { return to_client_; }

  void Kill() {
    if (!thread_.joinable()) return;
    (void)!write(stop_[1], "x", 1);
    thread_.join();
    for (const int fd : {listener_, stop_[0], stop_[1]}) close(fd);
  }

 private:
  static void Reset(int fd) {
    const linger now{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
  }
  bool Stopping(int fd) const {  // waits for bytes; true: stop
    pollfd polled[2] = {{stop_[0], POLLIN, 0}, {fd, POLLIN, 0}};
    poll(polled, 2, -1);
    return polled[0].revents != 0;
  }
  static bool Copy(int from, int to, std::string* seen = nullptr) {
    char buffer[65'536];
    const ssize_t size = recv(from, buffer, sizeof buffer, 0);
    if (size > 0 && seen != nullptr) seen->append(buffer, static_cast<size_t>(size));
    return size > 0 && send(to, buffer, static_cast<size_t>(size), MSG_NOSIGNAL) == size;
  }
  void Pass() {
    if (Stopping(listener_)) return;
    const int client = accept(listener_, nullptr, nullptr);
    const int server = Dial(server_port_);
    for (bool alive = true; alive;) {
      pollfd polled[3] = {{stop_[0], POLLIN, 0}, {client, POLLIN, 0}, {server, POLLIN, 0}};
      poll(polled, 3, -1);
      if (polled[0].revents != 0) break;
      if (polled[1].revents != 0) alive = Copy(client, server);
      if (alive && polled[2].revents != 0) alive = Copy(server, client, &to_client_);
    }
    Reset(server);  // first, so that the server knows when the client does
    Reset(client);
  }

  const uint16_t server_port_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int stop_[2] = {-1, -1};
  std::string target_, to_client_;
  std::thread thread_;
};

}  // namespace hopgap
