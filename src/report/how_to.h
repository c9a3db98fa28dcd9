#pragma once

#include <string>
#include <string_view>

namespace hopgap::report {

// How to switch tracing on in a client, what it will write and how to get it
// out: text for a terminal. Empty for a client that is not one of kHowToClients.
inline constexpr std::string_view kHowToClients = "go, java, python, node";
std::string HowToText(std::string_view client);

}  // namespace hopgap::report
