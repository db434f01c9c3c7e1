#include "deltabloom/filter_block.h"
#include "table/filter_block_assembly.h"

namespace deltabloom {

struct FilterBlockBuilder::Rep : internal::FilterBlockAssembly {
  using FilterBlockAssembly::FilterBlockAssembly;
};

FilterBlockBuilder::FilterBlockBuilder(const FilterPolicy* policy,
                                       unsigned base_lg)
    : rep_(std::make_unique<Rep>(policy, base_lg)) {}

FilterBlockBuilder::~FilterBlockBuilder() = default;

void FilterBlockBuilder::StartBlock(uint64_t block_offset) {
  rep_->StartBlock(block_offset);
}

void FilterBlockBuilder::AddKey(std::string_view key) { rep_->AddKey(key); }

std::string_view FilterBlockBuilder::Finish() { return rep_->Finish(); }

const std::string& FilterBlockBuilder::error() const { return rep_->error(); }

}  // namespace deltabloom
