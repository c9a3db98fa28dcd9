#pragma once

#include <string>

#include "trace/event.h"

namespace hopgap::live {

// The place of a client's events at "projects/P/topics/T" or
// ".../subscriptions/S"; a name of another form is its own resource.
trace::Place ClientPlace(const std::string& name, const std::string& arm, int hop);

}  // namespace hopgap::live
