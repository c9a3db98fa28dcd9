#include "client/model.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

namespace hopgap::client {

absl::StatusOr<Model> FindModel(std::string_view name) {
  Model model;
  if (name == model.name) return model;
  if (name == "overlap") {
    model.name = "overlap";
    model.receipt = ReceiptPolicy::kOverlap;
    return model;
  }
  return absl::NotFoundError(absl::StrCat("no client model '", std::string(name), "'; the models are: go, overlap"));
}

}  // namespace hopgap::client
