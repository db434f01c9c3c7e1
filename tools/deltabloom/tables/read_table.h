// Reads a table: its properties, and the blocks of its filters. Errors are
// thrown as std::runtime_error, with one line of text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

// Throws std::runtime_error(error) unless that is empty.
void Check(const std::string& error);

// Opens the table and calls fn with it. Returns what that threw: what went
// wrong, too little memory included, in one line.
std::string ReadTable(
    const std::string& path,
    const std::function<void(const internal::SstSource&)>& fn);

// A property of the table, `otherwise` if the table has none of that name.
std::string TextOf(const internal::SstFile& file, const char* name,
                   const char* otherwise = "");
uint64_t NumberOf(const internal::SstFile& file, const char* name,
                  uint64_t otherwise = 0);

// The keys and prefixes in the filter of a table, by its properties.
uint64_t FilterKeysOf(const internal::SstFile& file);

// Returns what WalkSst finds. Sets *damaged if the index of a partitioned
// filter is damaged.
internal::SstFile ReadSst(const internal::SstSource& source,
                          bool* damaged = nullptr);

// The blocks with the bytes of the filter: its partitions, or it alone.
std::vector<internal::BlockHandle> FilterBlocks(
    const internal::SstSource& source, const internal::SstFile& file,
    const internal::SstFilter& filter);

// The bytes of a block. *damaged is set if it cannot be read.
std::string ReadBlock(const internal::SstSource& source,
                      const internal::SstFile& file,
                      const internal::BlockHandle& handle,
                      bool* damaged = nullptr);

}  // namespace deltabloom::tools
