#include "tests/reference/reference.h"

namespace deltabloom::reference {
namespace {

const Reference* const kReferences[] = {
    &kClassicMurmurHash2,
    &kClassicLevelDBHash,
    &kLocal,
    &kCompact,
};

}  // namespace

const Reference* FindReference(std::string_view name) {
  for (const Reference* reference : kReferences) {
    if (name == reference->name) return reference;
  }
  return nullptr;
}

}  // namespace deltabloom::reference
