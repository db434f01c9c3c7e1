/* What the libraries for LD_PRELOAD share. */
#pragma once

/* Prints a line on standard error, once: a process prints at most two. */
void deltabloom_say(const char* line);

/* Only in the library that replaces Bloom filters (replace_bloom.c): returns 1
 * if it has replaced one. */
__attribute__((weak, visibility("hidden"))) int deltabloom_has_replaced(void);
