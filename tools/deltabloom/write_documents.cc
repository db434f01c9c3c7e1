// Part of the build: writes the manual pages and the completion into DIRECTORY.
//   write_documents DIRECTORY
#include <fstream>

#include "tools/deltabloom/program.h"

int main(int argc, char** argv) {
  using namespace deltabloom::tools;
  if (argc != 2) return kUsage;
  const std::string prefix = std::string(argv[1]) + "/" + kProgramName;
  const Program program(Commands());
  std::ofstream file;
  file.exceptions(std::ios::badbit | std::ios::failbit);
  const auto write = [&](const std::string& name, const std::string& text) {
    file.open(prefix + name, std::ios::binary);
    file << text;
    file.close();
  };
  write(".1", ManPage(program));
  write(".bash", BashCompletion(program));
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    write("-" + entry.command.name + ".1", ManPage(entry));
  }
  return kSuccess;
}
