// deltabloom inspect: which filters table files hold, and whether they are
// sound.
#include <memory>
#include <string>
#include <vector>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/inspect_output.h"
#include "tools/deltabloom/inspect_report.h"
#include "tools/deltabloom/table_files.h"

namespace deltabloom::tools {
namespace {

// Hands on to the output, and keeps what the summary needs.
class Judge : public InspectListener {
 public:
  explicit Judge(InspectOutput* output) : output_(output) {}

  void File(const FileReport& file) override {
    has_filter = file.filters > 0;
    output_->File(file);
  }
  void Filter(const FilterReport& filter) override { output_->Filter(filter); }
  void Part(const FilterPart& part) override {
    sound = sound && part.error.empty();
    output_->Part(part);
  }
  void EndFilter() override { output_->EndFilter(); }

  bool sound = true;
  bool has_filter = false;

 private:
  InspectOutput* const output_;
};

void InspectOne(const TableFile& file, InspectOutput* output,
                InspectSummary* summary) {
  Judge judge(output);
  output->BeginFile(file.path);
  const std::string error =
      file.error.empty() ? Inspect(file.path, &judge) : file.error;
  if (!error.empty() && IsGone(file)) {
    output->Gone();
    ++summary->gone;
    return;
  }
  output->EndFile(error);
  if (!error.empty() || !judge.sound) {
    summary->not_sound.push_back(file.path);
  } else if (!judge.has_filter) {
    summary->without_filter.push_back(file.path);
  } else {
    ++summary->sound;
  }
}

ExitCode RunInspect(const std::vector<std::string>& paths, Console* console) {
  const std::vector<TableFile> files = TableFiles(paths);
  InspectSummary summary;
  const auto output = NewInspectOutput(console);
  for (size_t i = 0; i < files.size(); ++i) {
    console->ShowProgress(i, files.size(), "files", files[i].path);
    if (IsGone(files[i])) {
      ++summary.gone;
    } else {
      InspectOne(files[i], output.get(), &summary);
    }
  }
  output->Summary(summary);
  return summary.not_sound.empty() ? kSuccess : kFailure;
}

RunFn AddOptions(CLI::App* app) {
  const auto paths = std::make_shared<std::vector<std::string>>();
  app->add_option("PATH", *paths,
                  "Table files, or directories of such (*.sst, *.ldb)")
      ->required();
  return [paths](Console* console) { return RunInspect(*paths, console); };
}

}  // namespace

Implementation InspectCommand() {
  Implementation command;
  command.manual.description = {
      "For each table file: the engine that wrote it, its format_version, and "
      "of each filter the kind, place, size, layout, keys and whether its "
      "checksum holds. Needs neither engine, opens no database and writes "
      "nothing: files of a running database can be looked at, too. One that is "
      "still being written has no end yet and is reported as not sound.",
      "A summary follows if there are several files. It names the tables "
      "without a filter, and counts those that vanished from their directories "
      "meanwhile.",
      "The document of --json has \"files\", in the order of the text, and "
      "\"summary\". A file has \"file\", its path, and \"error\" if it could "
      "not be read, \"gone\" if it vanished, else \"engine\", "
      "\"format_version\", \"checksum\", \"keys\" and \"filters\"; a filter "
      "has \"kind\", \"policy\", \"bytes\", \"bits_per_key\", \"index\" if it "
      "is partitioned, and \"parts\"; a part has \"offset\", \"bytes\", "
      "\"checksum\" (ok, failed or none) and \"layout\" or \"error\". Numbers "
      "that a file does not tell are null."};
  command.manual.examples = {
      {"deltabloom inspect 000012.sst", "the filters of one table"},
      {"deltabloom inspect /var/lib/db",
       "all tables in a directory, with a summary"},
      {"deltabloom inspect --json /var/lib/db | jq .summary.without_filter",
       "the tables without a filter, for a program"}};
  command.manual.success =
      "every file could be read and every filter in it is sound";
  command.manual.failure =
      "a file could not be read or a filter is not sound; standard error has a "
      "line for each";
  command.add_options = AddOptions;
  return command;
}

}  // namespace deltabloom::tools
