// The text format of Prometheus.
#pragma once

#include <string>
#include <string_view>

namespace deltabloom::internal {

// Returns the quoted value of a label.
std::string PrometheusLabel(std::string_view value);

}  // namespace deltabloom::internal
