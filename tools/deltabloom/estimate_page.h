// deltabloom estimate as a page: what it computes, with sliders.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_PAGE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_PAGE_H_

#include <string>

namespace deltabloom::tools {

// A page of HTML that needs no other file: estimate_page.html with the rates of
// all filters in it.
std::string EstimatePage();

// Its text, with @VERSION@ and @DATA@ to be filled in.
extern const char* const kEstimatePageTemplate;

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_PAGE_H_
