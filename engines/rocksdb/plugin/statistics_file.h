// The file that DELTABLOOM_STATISTICS names receives the statistics of the
// process.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_PLUGIN_STATISTICS_FILE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_PLUGIN_STATISTICS_FILE_H_

namespace deltabloom::internal {

// Reads the environment: DELTABLOOM_STATISTICS, a name that ends in .json or
// .prom, with %p for the number of the process, and
// DELTABLOOM_STATISTICS_SECONDS (15; 0: at the end only). From then on lookups
// and what opens or builds filters write the file at that interval, and the end
// of the program does. A process that made no policy writes nothing. What is
// wrong is one line on standard error; nothing throws. To be called once.
void StartStatisticsFile();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_PLUGIN_STATISTICS_FILE_H_
