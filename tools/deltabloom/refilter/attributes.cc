#include "tools/deltabloom/refilter/attributes.h"

#include <linux/limits.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

namespace deltabloom::tools {
namespace {

// The names of those that the file has. False, with the reason in errno, if
// they cannot be listed.
bool ListAttributes(int fd, std::vector<std::string>* names) {
  std::string list(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, list.data(), list.size());
  if (size < 0) return errno == ENOTSUP;
  list.resize(static_cast<size_t>(size));
  for (size_t at = 0; at < list.size(); at += names->back().size() + 1) {
    names->emplace_back(list.c_str() + at);
  }
  return true;
}

bool GetAttribute(int fd, const std::string& name, std::string* value) {
  value->resize(XATTR_SIZE_MAX);
  const ssize_t size =
      ::fgetxattr(fd, name.c_str(), value->data(), value->size());
  value->resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return size >= 0;
}

}  // namespace

bool CopyAttributes(int from, int to, std::string* failed) {
  std::vector<std::string> wanted;
  std::vector<std::string> there;
  if (!ListAttributes(from, &wanted) || !ListAttributes(to, &there)) {
    return false;
  }
  for (const std::string& name : there) {
    if (std::count(wanted.begin(), wanted.end(), name) > 0) continue;
    *failed = name;
    if (::fremovexattr(to, name.c_str()) != 0) return false;
  }
  for (const std::string& name : wanted) {
    *failed = name;
    std::string value;
    std::string now;
    if (!GetAttribute(from, name, &value)) return false;
    // An attribute that the system sets, such as a label of SELinux, may be
    // right already.
    if (GetAttribute(to, name, &now) && now == value) continue;
    if (::fsetxattr(to, name.c_str(), value.data(), value.size(), 0) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace deltabloom::tools
