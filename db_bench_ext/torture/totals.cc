#include "db_bench_ext/torture/totals.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "db_bench_ext/common/results.h"

namespace deltabloom::torture {

namespace {

struct Row {
  const char* name;
  const char* text;
  Totals::Count Totals::*count;
};

constexpr Row kRows[] = {
#define DELTABLOOM_TORTURE_ROW(name, text) {#name, text, &Totals::name},
    DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_ROW)
#undef DELTABLOOM_TORTURE_ROW
};

}  // namespace

std::string Totals::Format() const {
  std::string table;
  for (const Row& row : kRows) {
    const std::string number = bench::WithThousands(this->*row.count);
    table += std::string(number.size() < 15 ? 15 - number.size() : 0, ' ') +
             number + "  " + row.text + "\n";
  }
  return table;
}

std::string Totals::FormatJson() const {
  nlohmann::ordered_json json;
  for (const Row& row : kRows) json[row.name] = (this->*row.count).load();
  return json.dump(2) + "\n";
}

void Totals::AddJson(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) throw std::runtime_error("not an object of counts");
  for (const auto& [name, value] : parsed.items()) {
    if (!value.is_number_unsigned()) {
      throw std::runtime_error("'" + name + "' is not a count");
    }
  }
  for (const Row& row : kRows) {
    if (parsed.contains(row.name)) {
      this->*row.count += parsed[row.name].get<uint64_t>();
    }
  }
}

}  // namespace deltabloom::torture
