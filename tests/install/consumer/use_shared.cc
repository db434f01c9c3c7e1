#include <cstdio>
#include <string>

#include "deltabloom/guava_filter.h"
#include "deltabloom/guava_funnels.h"

int main() {
  deltabloom::GuavaFilterOptions options;
  options.expected_insertions = 100;
  deltabloom::GuavaFilter filter(options);
  filter.Put(deltabloom::GuavaLongFunnel(1));
  std::string bytes;
  filter.AppendTo(&bytes);
  const auto read = deltabloom::GuavaFilter::FromBytes(bytes);
  std::printf("%zu bytes\n", bytes.size());
  return read->MightContain(deltabloom::GuavaLongFunnel(1)) ? 0 : 1;
}
