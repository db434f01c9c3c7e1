#include "util/range/delimiters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/reach.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {
namespace {

// Both limit the time for keys of many delimiters. In the workloads of
// docs/design.md as many scans pass with two or 16 delimiters, and up to the
// 255th place, within 1 %; with one delimiter 7 % more of those looked up do.
constexpr size_t kMaxDelimiters = 4;
// A byte is a delimiter only where it occurs for the 16th time or earlier.
constexpr unsigned kMaxDelimiterCount = 16;
// A delimiter is tried if at least an eighth of the samples, by weight, have
// it. With half of them 4 % more of the looked-up scans pass; with any share as
// many do, and building takes about a tenth longer (docs/design.md).
constexpr double kLeastShare = 1.0 / 8;

// The count-th time that a byte occurs.
using Delimiter = std::pair<uint8_t, uint8_t>;  // count, byte

struct Use {
  double weight = 0;  // of the samples that have it
  size_t place = 0;   // where the last of these has it
  bool varies = false;

  void Note(size_t at, double sample_weight) {
    varies = varies || (weight > 0 && place != at);
    place = at;
    weight += sample_weight;
  }
};

// Calls fn(delimiter, place) for each delimiter in the text: a byte that is
// neither letter nor digit, behind one that is.
template <typename Fn>
void ForEachDelimiter(std::string_view text, const Fn& fn) {
  std::array<uint8_t, 256> counts = {};
  for (size_t at = 0; at < text.size(); ++at) {
    uint8_t& count = counts[ByteAt(text, at)];
    if (IsAlphanumeric(text[at]) || count == kMaxDelimiterCount) continue;
    ++count;
    if (at > 0 && IsAlphanumeric(text[at - 1])) {
      fn(Delimiter(count, ByteAt(text, at)), at);
    }
  }
}

}  // namespace

std::vector<Cut> FindDelimiters(const std::vector<Sample>& samples,
                                const std::vector<Reach>& reaches) {
  std::map<Delimiter, Use> uses;
  double all = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!reaches[i].CanBeRejected()) continue;
    all += samples[i].weight;
    ForEachDelimiter(reaches[i].CommonBytes(),
                     [&](const Delimiter& delimiter, size_t at) {
                       uses[delimiter].Note(at, samples[i].weight);
                     });
  }
  std::vector<std::pair<double, Delimiter>> by_weight;
  for (const auto& [delimiter, use] : uses) {
    // A delimiter that is always at the same place does what a depth does.
    if (use.varies && use.weight >= kLeastShare * all) {
      by_weight.emplace_back(-use.weight, delimiter);
    }
  }
  std::sort(by_weight.begin(), by_weight.end());
  std::vector<Cut> delimiters;
  for (const auto& [weight, delimiter] : by_weight) {
    if (delimiters.size() == kMaxDelimiters) break;
    delimiters.push_back({delimiter.first, delimiter.second, 0});
  }
  return delimiters;
}

}  // namespace deltabloom::internal::range
