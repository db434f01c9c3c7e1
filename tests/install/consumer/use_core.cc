#include <cstdio>
#include <string>

#include "deltabloom/filter.h"

int main() {
  deltabloom::FilterBuilder builder;
  builder.AddKey("present");
  std::string filter;
  builder.Finish(&filter);
  const bool found = deltabloom::Filter(filter).MayMatch("present");
  const bool absent = !deltabloom::Filter(filter).MayMatch("missing");
  std::printf("%s\n", deltabloom::DescribeFilter(filter).c_str());
  return found && absent ? 0 : 1;
}
