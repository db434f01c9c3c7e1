// Part of the build: writes the manual pages and the completion.
//
//   write_documents DIRECTORY
#include <fstream>
#include <iostream>

#include "tools/deltabloom/documents.h"

namespace {

bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.close(); file.good()) return true;
  std::cerr << "write_documents: " << path << ": cannot be written\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace deltabloom::tools;
  if (argc != 2) {
    std::cerr << "usage: write_documents DIRECTORY\n";
    return kUsage;
  }
  const std::string prefix = std::string(argv[1]) + "/" + kProgramName;
  const Program program(Commands());
  bool written = Write(prefix + ".1", ManPage(program)) &&
                 Write(prefix + ".bash", BashCompletion(program));
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    written = written &&
              Write(prefix + "-" + entry.command.name + ".1", ManPage(entry));
  }
  return written ? kSuccess : kFailure;
}
