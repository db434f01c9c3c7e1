// A filter whose bytes were parsed once.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

namespace deltabloom::internal {

class KeyBatch;

// Holds a plain struct of the layout: the sizes that its functions need.
class AnyShape {
 public:
  template <typename Shape>
  void Set(const Shape& shape) {
    static_assert(sizeof(Shape) <= sizeof(bytes_) && alignof(Shape) <= 8 &&
                  std::is_trivially_copyable<Shape>::value);
    ::new (static_cast<void*>(bytes_)) Shape(shape);
#ifndef NDEBUG
    type_ = &kType<Shape>;
#endif
  }
  // REQUIRES: the type is that of the last Set.
  template <typename Shape>
  const Shape& As() const {
    assert(type_ == &kType<Shape>);
    return *std::launder(reinterpret_cast<const Shape*>(bytes_));
  }

 private:
  alignas(8) unsigned char bytes_[40];
#ifndef NDEBUG
  template <typename Shape>
  static constexpr char kType = 0;
  const void* type_ = nullptr;  // the address is the type's own
#endif
};

// Filter bytes after parsing, with the functions for their layout and this CPU.
struct ParsedFilter {
  bool (*may_match)(const ParsedFilter&, std::string_view key);
  void (*may_match_many)(const ParsedFilter&, KeyBatch keys, size_t n,
                         bool* may_match);
  const unsigned char* payload;
  uint64_t payload_size;  // bytes
  AnyShape shape;
};

}  // namespace deltabloom::internal
