#include <cstdio>
#include <string>

#include "deltabloom/guava_funnels.h"

int main() {
  const std::string bytes = deltabloom::GuavaLongFunnel(1);
  std::printf("%zu bytes\n", bytes.size());
  return bytes == std::string("\1\0\0\0\0\0\0\0", 8) ? 0 : 1;
}
