#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/process.h"
#include "loop/timer.h"
#include "server/grpc_server.h"
#include "server/http_server.h"
#include "store/memory_journal.h"
#include "trace/event.h"

namespace hopgap::tests {

// A folder of one test, removed with it.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string Write(const std::string& name, const std::string& text) const;  // its path
  std::string Read(const std::string& name) const;
  std::string path(const std::string& name = "") const { return (path_ / name).string(); }

 private:
  const std::filesystem::path path_;
};

// A self-signed certificate for 127.0.0.1 and its key, in PEM, made anew.
struct Certificate {
  std::string certificate, key;
  static Certificate Make(const std::string& name);
};

// Cloud Pub/Sub and what gives tokens for it, on this machine: our broker behind
// TLS, which serves only who shows a token that was given and has not expired.
class FakeGoogle {
 public:
  static constexpr char kAdmin[] = "an-admin-token-of-the-test";  // always served, never limited

  FakeGoogle();
  ~FakeGoogle();

  // Of tokens given from now on.
  void TokensLive(Duration lifetime);
  // The token endpoint refuses, as Google does when a login was revoked.
  void RefuseTokens();
  // Calls of the method ("Publish") end with RESOURCE_EXHAUSTED after the first `served`.
  void LimitCalls(const std::string& method, int served);
  // Once, when the method is called for the `nth` time, before it is served; on
  // the broker's thread.
  void When(const std::string& method, int nth, std::function<void()> what);
  // Tokens are given, and then not accepted.
  void RejectGivenTokens();

  int tokens_given() const;
  int calls(const std::string& method) const;
  // Topics and subscriptions that are there now.
  std::vector<std::string> ResourcesLeft();

  // What makes hopgap take this for Google. Credentials come from the metadata
  // server, unless `credentials` names a file.
  std::vector<std::string> Environment(const std::string& credentials = "") const;
  std::vector<std::string> TargetFlags() const;
  // A login of gcloud's, whose tokens come from here.
  std::string UserFile() const;

 private:
  server::HttpReply GiveToken(const server::HttpCall& call);
  absl::Status Admit(std::string_view path, std::string_view authorization);

  mutable std::mutex mu_;
  // Guarded.
  std::map<std::string, Instant> ends_;  // of the tokens given
  std::map<std::string, int> calls_, limits_;
  Duration lifetime_{std::chrono::hours{1}};
  bool refuse_ = false, reject_ = false;
  std::map<std::pair<std::string, int>, std::function<void()>> when_;

  Folder folder_;
  trace::NullSink sink_;
  loop::Timer timer_;
  store::MemoryJournal journal_;
  std::unique_ptr<server::HttpServer> tokens_;
  std::unique_ptr<server::GrpcServer> broker_;
};

}  // namespace hopgap::tests
