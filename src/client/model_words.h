#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/model.h"

namespace hopgap::client {

// One model for people: what stands in no field of it, or only between them.
struct ModelWords {
  std::string_view library;    // whose behaviour it is, and the version read
  std::string_view waits_for;  // what keeps a message from its callback under exactly-once
  std::string_view gives_up;   // what its users do not get for that
  std::string_view settings;   // what its users can turn, by the library's names
  std::string_view differs;    // where the model is not the library; empty: nothing known
};
// Requires: `name` is one of ModelNames().
const ModelWords& WordsOf(std::string_view name);

// A behaviour of the model, read from its fields.
struct ModelFact {
  std::string name;  // "receipt modack, exactly-once"
  std::string value;
};
std::vector<ModelFact> FactsOf(const Model& model);

}  // namespace hopgap::client
