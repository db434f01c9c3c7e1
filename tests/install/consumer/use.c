/* A database with Deltabloom's filters, written through the C interfaces of
 * both. */
#include <deltabloom/c.h>
#include <rocksdb/c.h>
#include <stdio.h>

static int check(const char* error) {
  if (error != NULL) fprintf(stderr, "%s\n", error);
  return error == NULL;
}

int main(void) {
  char* error = NULL;
  char key[16];
  int i;
  rocksdb_t* db;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_options_set_create_if_missing(options, 1);
  deltabloom_rocksdb_add_filters(options, "deltabloom:10:auto:levels", &error);
  if (!check(error)) return 1;
  db = rocksdb_open(options, "example.db", &error);
  if (!check(error)) return 1;
  for (i = 0; i < 1000; ++i) {
    const int size = snprintf(key, sizeof(key), "key%d", i);
    rocksdb_put(db, write, key, (size_t)size, "value", 5, &error);
    if (!check(error)) return 1;
  }
  rocksdb_flush(db, rocksdb_flushoptions_create(), &error);
  rocksdb_close(db);
  return check(error) ? 0 : 1;
}
