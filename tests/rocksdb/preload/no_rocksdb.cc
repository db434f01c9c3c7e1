// For a program without RocksDB.
extern "C" {
extern const char deltabloom_test_mark[];
const char deltabloom_test_mark[] = "none";
}
