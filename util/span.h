// A view of an array that is defined elsewhere, with the size of its
// definition.
#pragma once

#include <cstddef>

namespace deltabloom::internal {

template <typename T>
class Span {
 public:
  template <size_t n>
  explicit constexpr Span(const T (&array)[n]) : first_(array), size_(n) {}

  constexpr const T* begin() const { return first_; }
  constexpr const T* end() const { return first_ + size_; }
  constexpr const T& operator[](size_t i) const { return first_[i]; }

 private:
  const T* first_;
  size_t size_;
};

}  // namespace deltabloom::internal
