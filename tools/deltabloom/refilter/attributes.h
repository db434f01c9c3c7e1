// Extended attributes of files, which POSIX ACLs are as well.
#pragma once

#include <string>

namespace deltabloom::tools {

// Gives a file the attributes of another one, and takes others that it got
// from its directory. Returns false, with the reason in errno, if that cannot
// be done; *failed then receives the name of the one that cannot be set.
bool CopyAttributes(int from, int to, std::string* failed);

}  // namespace deltabloom::tools
