// Reads the copy of a table back. Each throws std::runtime_error if it is not
// what was written.
#pragma once

#include <vector>

#include "tools/deltabloom/refilter/filter_maker.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {

// These parts of the new file must be those of the old one with the patches,
// byte by byte.
void Compare(const internal::SstSource& old, const internal::SstSource& now,
             const std::vector<internal::SstPatch>& patches,
             const std::vector<internal::BlockHandle>& parts);

// Reads the filters of the new file as the database does: each must be the one
// that was made, or the old one.
void VerifyFilters(const internal::SstSource& old,
                   const internal::SstFile& old_file,
                   const internal::SstSource& now, const FilterMaker& maker);

}  // namespace deltabloom::tools
