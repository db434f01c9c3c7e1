// Tells MemorySanitizer what libstdc++, which is not instrumented, writes:
// script/test --long portability links this into each program, ahead of the
// library.
//
// The functions of the facets that format and read numbers are instantiated
// here. Functions that are no templates are wrapped (--wrap of ld): those that
// fill an object of the caller declare which bytes they have written, and those
// that compare an array of their own are not checked.
#include <sanitizer/msan_interface.h>

#include <charconv>
#include <ios>
#include <locale>
#include <map>

template class std::num_put<char>;
template class std::num_get<char>;

extern "C" {

void __real__ZNSt8ios_baseC2Ev(std::ios_base* base);
void __wrap__ZNSt8ios_baseC2Ev(std::ios_base* base) {
  __real__ZNSt8ios_baseC2Ev(base);
  __msan_unpoison(base, sizeof(*base));
}

void __real__ZNSt6localeC1Ev(std::locale* locale);
void __wrap__ZNSt6localeC1Ev(std::locale* locale) {
  __real__ZNSt6localeC1Ev(locale);
  __msan_unpoison(locale, sizeof(*locale));
}

void __real__ZNSt6localeC1ERKS_(std::locale* locale, const std::locale* other);
void __wrap__ZNSt6localeC1ERKS_(std::locale* locale, const std::locale* other) {
  __real__ZNSt6localeC1ERKS_(locale, other);
  __msan_unpoison(locale, sizeof(*locale));
}

void __real__ZNKSt5ctypeIcE13_M_widen_initEv(const std::ctype<char>* facet);
void __wrap__ZNKSt5ctypeIcE13_M_widen_initEv(const std::ctype<char>* facet) {
  __msan_scoped_disable_interceptor_checks();
  __real__ZNKSt5ctypeIcE13_M_widen_initEv(facet);
  __msan_scoped_enable_interceptor_checks();
}

// to_chars(char*, char*, double).
std::to_chars_result __real__ZSt8to_charsPcS_d(char* first, char* last,
                                               double number);
std::to_chars_result __wrap__ZSt8to_charsPcS_d(char* first, char* last,
                                               double number) {
  std::to_chars_result result = __real__ZSt8to_charsPcS_d(first, last, number);
  __msan_unpoison(&result, sizeof(result));
  __msan_unpoison(first, static_cast<size_t>(result.ptr - first));
  return result;
}

// Links a node into a map or set.
void __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
    bool left, std::_Rb_tree_node_base* node, std::_Rb_tree_node_base* parent,
    std::_Rb_tree_node_base* header);
void __wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
    bool left, std::_Rb_tree_node_base* node, std::_Rb_tree_node_base* parent,
    std::_Rb_tree_node_base* header) {
  __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
      left, node, parent, header);
  __msan_unpoison(node, sizeof(*node));
}

}  // extern "C"
