#include "engines/rocksdb/base/prometheus.h"

#include <string>
#include <string_view>

#include "util/json.h"

namespace deltabloom::internal {

std::string PrometheusLabel(std::string_view value) {
  std::string label = "\"";
  for (const char c : Utf8Of(value)) {
    if (c == '"' || c == '\\' || c == '\n') label += '\\';
    label += c == '\n' ? 'n' : c;
  }
  return label + '"';
}

}  // namespace deltabloom::internal
