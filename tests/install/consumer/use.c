/* Uses the core of the installed package from C. */
#include <stdio.h>
#include <stdlib.h>

#include "deltabloom/c.h"

int main(void) {
  size_t size = 0;
  deltabloom_builder_t* const builder = deltabloom_builder_create(NULL, NULL);
  deltabloom_builder_add(builder, "present", 7, NULL);
  char* const bytes = deltabloom_builder_finish(builder, &size, NULL);
  deltabloom_builder_destroy(builder);
  char* const line = deltabloom_filter_describe(bytes, size);
  puts(line);
  free(line);
  deltabloom_filter_t* const filter =
      deltabloom_filter_create(bytes, size, NULL, NULL);
  const int right = deltabloom_filter_may_match(filter, "present", 7) != 0 &&
                    deltabloom_filter_may_match(filter, "missing", 7) == 0;
  deltabloom_filter_destroy(filter);
  free(bytes);
  return right ? 0 : 1;
}
