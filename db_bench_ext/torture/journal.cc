#include "db_bench_ext/torture/journal.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

namespace deltabloom::torture {

namespace {

// What does not fit is cut off.
template <size_t kSize>
void Copy(const std::string& text, char (&to)[kSize]) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

}  // namespace

Journal* Journal::Create() {
  void* const memory = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error(std::string("no shared memory for the journal: ") +
                             std::strerror(errno));
  }
  return new (memory) Journal();
}

void Journal::Clear() {
  for (uint32_t i = 0; i < size(); ++i) new (&records_[i]) Record();
  size_ = 0;
  clock_ = 0;
  failing_ = false;
  failed_ = false;
  failure_[0] = '\0';
  step_[0] = '\0';
  wants_to_die = false;
  write_failed = false;
  abandoned = false;
  acknowledged = 0;
}

Record* Journal::New() {
  const uint32_t i = size_++;
  if (i < kCapacity) return &records_[i];
  size_ = kCapacity;
  return nullptr;
}

void Journal::Begin(Record* record) { record->begin = Now(); }

void Journal::End(Record* record, Outcome outcome) {
  record->outcome = outcome;
  record->end = Now();
}

uint32_t Journal::size() const { return std::min(size_.load(), kCapacity); }

void Journal::Fail(const std::string& what) {
  if (failing_.exchange(true)) return;
  Copy(what, failure_);
  failed_ = true;
}

void Journal::Begin(const std::string& step) { Copy(step, step_); }

}  // namespace deltabloom::torture
