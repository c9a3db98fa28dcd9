#include "live/place.h"

#include "base/text.h"

namespace hopgap::live {

trace::Place ClientPlace(const std::string& name, const std::string& arm, int hop) {
  const std::vector<std::string_view> parts = Split(name, '/');
  trace::Place place{.side = trace::Place::Side::kClient, .arm = arm, .hop = hop, .project = {}, .resource = name};
  if (parts.size() == 4) {
    place.project = std::string(parts[1]);
    place.resource = std::string(parts[3]);
  }
  return place;
}

}  // namespace hopgap::live
