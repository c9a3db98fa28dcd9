// Everything that the symbol check exists to find, in one object file.
#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

namespace hopgap::house {

long Planted(const char* name) {
  std::random_device device;
  std::thread thread([] {});
  thread.join();
  const std::ifstream file(name);
  const long numbers = socket(AF_INET, SOCK_STREAM, 0) + open(name, O_RDONLY) + static_cast<long>(device());
  const bool found = std::getenv(name) != nullptr && file.good();
  return numbers + (found ? 1 : 0) + std::chrono::system_clock::now().time_since_epoch().count() +
         std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace hopgap::house
