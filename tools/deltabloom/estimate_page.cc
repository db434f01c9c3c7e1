#include "tools/deltabloom/estimate_page.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tools/deltabloom/estimate_filters.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"
#include "util/version.h"

namespace deltabloom::tools {
namespace {

using nlohmann::json;

constexpr double kFirstBits = 0.5;
constexpr double kStep = 0.25;
constexpr double kLastBits = 100;

json Curve(const std::function<double(double)>& rate) {
  json rates = json::array();
  for (double bits = kFirstBits; bits <= kLastBits; bits += kStep) {
    // Six digits; the page takes logarithms.
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", std::max(1e-15, rate(bits)));
    rates.push_back(std::stod(text));
  }
  return {{"first", kFirstBits}, {"step", kStep}, {"rates", rates}};
}

json CurveOfLayout(Layout layout) {
  const internal::RateCurve& curve = internal::CurveOf(layout).curve;
  return Curve([&curve](double bits) { return curve.At(bits).rate; });
}

json Data() {
  json data;
  data["curves"] = {{"rocksdb-bloom", Curve(internal::RocksDBBloomRate)},
                    {"rocksdb-ribbon", Curve(internal::RocksDBRibbonRate)},
                    {"classic", Curve([](double bits) {
                       return UniformRate(Layout::kClassic, bits);
                     })},
                    {"local", CurveOfLayout(Layout::kLocal)},
                    {"compact", CurveOfLayout(Layout::kCompact)},
                    {"auto", CurveOfLayout(Layout::kAuto)}};
  data["rows"] = json::array();
  for (const FilterName& name : FilterNames()) {
    data["rows"].push_back({{"filter", name.filter},
                            {"allocation", name.allocation},
                            {"curve", name.filter}});
  }
  // Those of all pages: db_bench_ext/common/colours.py.
  data["colours"] = {
      {"rocksdb-bloom", "#4c72b0"}, {"rocksdb-ribbon", "#8172b3"},
      {"classic", "#dd8452"},       {"local", "#c44e52"},
      {"compact", "#55a868"},       {"auto", "#2f7f73"}};
  return data;
}

void Replace(const std::string& mark, const std::string& by,
             std::string* text) {
  text->replace(text->find(mark), mark.size(), by);
}

}  // namespace

std::string EstimatePage() {
  std::string page = kEstimatePageTemplate;
  Replace("@VERSION@", internal::kVersion, &page);
  Replace("@DATA@", Data().dump(), &page);
  return page;
}

}  // namespace deltabloom::tools
