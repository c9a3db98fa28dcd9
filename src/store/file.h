#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pubsub/bytes.h"

namespace hopgap::store {

// A file of fixed size, as the journal uses one. Errors: ResourceExhausted when
// the disk is full, Internal for every other failure of the system; the message
// names the file and the system's reason. After a failed Write() or Sync() what
// the file holds is unknown, also if a repeat succeeds.
//
// Not thread-safe, but a mapping may be read while others write elsewhere.
class File {
 public:
  virtual ~File() = default;

  // Writes all of `bytes` at `offset`. They may be lost until Sync() returns.
  // Requires: they lie inside the size.
  virtual absl::Status Write(uint64_t offset, std::string_view bytes) = 0;
  // Returns when everything written so far survives a loss of power.
  virtual absl::Status Sync() = 0;
  // The whole file, for reading; later writes show in it. The bytes keep what
  // they need: they may outlive the file and its directory.
  virtual absl::StatusOr<pubsub::Bytes> Map() = 0;
  virtual uint64_t size() const = 0;
};

// One directory of such files: what the journal knows of the disk. Names hold
// no '/'. Creations, renames and removals may be lost until Sync() returns.
//
// Not thread-safe, except that Create() may run beside everything else.
class Directory {
 public:
  virtual ~Directory() = default;

  enum class Fill {
    kReserved,  // reads as zeros; its blocks are taken, so that no write finds the disk full
    kZeroed,    // ... and written once, which makes later writes cheaper; takes as long as writing that much
  };
  // AlreadyExists if there is one of that name; ResourceExhausted, with nothing
  // left behind, if the disk cannot take it. What it holds is durable when it
  // returns; its name is after Sync().
  virtual absl::StatusOr<std::unique_ptr<File>> Create(std::string_view name, uint64_t size, Fill fill) = 0;
  // NotFound if there is none.
  virtual absl::StatusOr<std::unique_ptr<File>> Open(std::string_view name) = 0;
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;  // names of files, in order
  // Takes the place of a file called `to`.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;
  virtual absl::Status Remove(std::string_view name) = 0;
  virtual absl::Status Sync() = 0;
  virtual absl::StatusOr<uint64_t> FreeBytes() = 0;

  // Keeps others out until this object or the process is gone.
  // FailedPrecondition, saying so, if another holds it.
  virtual absl::Status Lock() = 0;
  // For messages: the path as it was given.
  virtual std::string name() const = 0;
};

// The real one; made if it is not there (0700; its parent must be).
absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path);

// Puts `content` where `name` is, durably and at once: afterwards, and after any
// crash on the way, there is either the old file or the whole new one.
absl::Status ReplaceFile(Directory& directory, std::string_view name, std::string_view content);

}  // namespace hopgap::store
