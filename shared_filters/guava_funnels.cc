#include "deltabloom/guava_funnels.h"

#include "util/coding.h"

namespace deltabloom {
namespace {

constexpr char16_t kReplacement = 0xFFFD;

bool IsHighSurrogate(char16_t unit) { return unit >> 10 == 0xD800 >> 10; }
bool IsLowSurrogate(char16_t unit) { return unit >> 10 == 0xDC00 >> 10; }

char32_t CodePoint(char16_t high, char16_t low) {
  return 0x10000 + ((high & char32_t{0x3FF}) << 10 | (low & char32_t{0x3FF}));
}

void AppendUtf8(char32_t code_point, std::string* to) {
  const auto append = [to](char32_t byte) {
    to->push_back(static_cast<char>(byte));
  };
  if (code_point < 0x80) return append(code_point);
  const unsigned size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  append((0xF00 >> size & 0xFF) | code_point >> 6 * (size - 1));
  for (unsigned left = size - 1; left > 0; --left) {
    append(0x80 | (code_point >> 6 * (left - 1) & 0x3F));
  }
}

void AppendUtf16(char32_t code_point, std::u16string* to) {
  if (code_point < 0x10000) {
    to->push_back(static_cast<char16_t>(code_point));
    return;
  }
  code_point -= 0x10000;
  to->push_back(static_cast<char16_t>(0xD800 | code_point >> 10));
  to->push_back(static_cast<char16_t>(0xDC00 | (code_point & 0x3FF)));
}

}  // namespace

std::string GuavaIntegerFunnel(int32_t value) {
  std::string bytes(sizeof(value), '\0');
  internal::StoreFixed32(bytes.data(), static_cast<uint32_t>(value));
  return bytes;
}

std::string GuavaLongFunnel(int64_t value) {
  std::string bytes(sizeof(value), '\0');
  internal::StoreFixed64(bytes.data(), static_cast<uint64_t>(value));
  return bytes;
}

std::string GuavaStringFunnel(std::u16string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char16_t unit = text[i];
    if (IsHighSurrogate(unit) && i + 1 < text.size() &&
        IsLowSurrogate(text[i + 1])) {
      AppendUtf8(CodePoint(unit, text[++i]), &bytes);
    } else if (IsHighSurrogate(unit) || IsLowSurrogate(unit)) {
      bytes.push_back('?');
    } else {
      AppendUtf8(unit, &bytes);
    }
  }
  return bytes;
}

std::string GuavaUnencodedCharsFunnel(std::u16string_view text) {
  std::string bytes;
  bytes.reserve(2 * text.size());
  for (const char16_t unit : text) {
    bytes.push_back(static_cast<char>(unit & 0xFF));
    bytes.push_back(static_cast<char>(unit >> 8));
  }
  return bytes;
}

std::u16string JavaUtf16(std::string_view utf8) {
  std::u16string text;
  text.reserve(utf8.size());
  const auto byte = [utf8](size_t i) {
    return static_cast<unsigned char>(utf8[i]);
  };
  for (size_t i = 0; i < utf8.size();) {
    const unsigned char lead = byte(i);
    // Bytes of a sequence that begins so; 0: none does.
    const unsigned size = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    // Of its second byte. Surrogates pass, as they do in Java until a sequence
    // is whole.
    unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xF4 ? 0x8F : 0xBF;
    unsigned whole = 1;
    char32_t code_point = size == 1 ? lead : lead & (0x7Fu >> size);
    while (whole < size && i + whole < utf8.size() &&
           byte(i + whole) >= least && byte(i + whole) <= most) {
      code_point = code_point << 6 | (byte(i + whole) & 0x3Fu);
      ++whole;
      least = 0x80;
      most = 0xBF;
    }
    // What fits so far and goes no further is one replacement.
    const bool is_surrogate = code_point >> 11 == 0xD800 >> 11;
    AppendUtf16(whole == size && !is_surrogate ? code_point : kReplacement,
                &text);
    i += whole;
  }
  return text;
}

}  // namespace deltabloom
