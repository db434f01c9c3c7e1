// What the studies of somebody's own keys come to.
#ifndef DELTABLOOM_DB_BENCH_EXT_STUDY_ADVICE_H_
#define DELTABLOOM_DB_BENCH_EXT_STUDY_ADVICE_H_

#include <string>

#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {

// Some lines of text from the rows of StudyHashes and StudySpace on one key
// set: which layout, how many bits for a rate, whether the hashes suit these
// keys, what the filter takes beside them. Without one of the two, what the
// other says.
std::string Advice(const Rows& hashes, const Rows& space);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_ADVICE_H_
