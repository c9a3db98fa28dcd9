#include "base/text.h"
#include "store/file.h"

namespace hopgap::store {

absl::Status ReplaceFile(Directory& directory, std::string_view name, std::string_view content) {
  const std::string fresh = StrCat(name, ".new");
  const absl::StatusOr<std::vector<std::string>> names = directory.List();
  if (!names.ok()) return names.status();
  for (const std::string& other : *names) {
    if (other != fresh) continue;  // a crash left it
    if (absl::Status removed = directory.Remove(fresh); !removed.ok()) return removed;
  }
  absl::StatusOr<std::unique_ptr<File>> file = directory.Create(fresh, content.size(), Directory::Fill::kReserved);
  if (!file.ok()) return file.status();
  if (absl::Status written = (*file)->Write(0, content); !written.ok()) return written;
  if (absl::Status synced = (*file)->Sync(); !synced.ok()) return synced;
  if (absl::Status renamed = directory.Rename(fresh, name); !renamed.ok()) return renamed;
  return directory.Sync();
}

}  // namespace hopgap::store
