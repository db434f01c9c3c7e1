// The last 48 or 53 bytes of a table.
#ifndef DELTABLOOM_TABLE_SST_FOOTER_H_
#define DELTABLOOM_TABLE_SST_FOOTER_H_

#include <string>

#include "table/sst/sst.h"

namespace deltabloom::internal {

// Whether the metaindex tells where the index is, and not the footer.
bool IndexIsInMetaindex(const SstFile& file);

// Fills in everything of *file that the footer tells; its handles are checked.
std::string ReadFooter(const SstSource& source, SstFile* file);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_FOOTER_H_
