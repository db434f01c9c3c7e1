// Reads any bytes as a filter of Guava's, as a Redis bitmap and as text: they
// are refused with one line that says why, or give a filter that writes the
// same bytes again.
//
// Input: the bytes.
#include <string>
#include <string_view>

#include "deltabloom/go_murmur3_filter.h"
#include "deltabloom/guava_filter.h"
#include "tests/fuzz/harness.h"

namespace deltabloom::fuzz {
namespace {

void ReadFilter(std::string_view bytes) {
  std::string error;
  const auto filter = GuavaFilter::FromBytes(bytes, &error);
  Check((filter == nullptr) == !error.empty());
  Check(error.find('\n') == std::string::npos);
  if (filter == nullptr) return;
  Check(bytes.size() == 6 + filter->Bits() / 8);
  std::string copy;
  filter->AppendTo(&copy);
  Check(copy == bytes);
  const double before = filter->ExpectedFpp();
  const bool there = filter->MightContain("key");
  Check(filter->Put("key") == !there);
  Check(filter->MightContain("key"));
  Check(filter->ExpectedFpp() >= before && filter->ExpectedFpp() <= 1);
  filter->ApproximateElementCount();
}

void ReadBitmap(std::string_view bitmap) {
  GoMurmur3FilterOptions options;
  options.bits = 1 + 8 * bitmap.size() / 2;
  GoMurmur3Filter filter(options);
  const std::string error = filter.MergeBitmap(bitmap);
  Check(error.empty() || filter.SetBits() == 0);
  std::string copy;
  filter.AppendBitmap(&copy);
  GoMurmur3Filter again(options);
  Check(again.MergeBitmap(copy).empty());
  Check(again.SetBits() == filter.SetBits());
}

// Checks that text is well-formed once its invalid parts were replaced.
void ReadText(std::string_view bytes) {
  const std::u16string text = JavaUtf16(bytes);
  Check(text.size() <= bytes.size());
  const std::string utf8 = GuavaStringFunnel(text);
  Check(JavaUtf16(utf8) == text);
  Check(GuavaUnencodedCharsFunnel(text).size() == 2 * text.size());
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  ReadFilter(bytes);
  ReadBitmap(bytes);
  ReadText(bytes);
}

}  // namespace deltabloom::fuzz
