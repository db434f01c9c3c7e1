#include "tools/deltabloom/inspect_output.h"

#include <cstdio>
#include <optional>

namespace deltabloom::tools {
namespace {

const char* ChecksumState(bool has_checksums, const FilterPart& part) {
  if (!part.error.empty()) return "failed";
  return has_checksums ? "ok" : "none";
}

std::string Count(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

class TextOutput : public InspectOutput {
 public:
  explicit TextOutput(Console* console) : console_(console) {}

  void BeginFile(const std::string& path) override { path_ = path; }

  void File(const FileReport& file) override {
    has_checksums_ = file.has_checksums;
    std::string line = path_ + ": " + file.engine + " table, format_version " +
                       std::to_string(file.format_version) + ", checksums " +
                       file.checksum;
    if (file.keys.has_value()) {
      line += ", " + std::to_string(*file.keys) + " keys in filters";
    }
    console_->Line(line + (file.filters == 0 ? ", no filter" : ""));
  }

  void Filter(const FilterReport& filter) override {
    std::string line = "  " + filter.kind + " filter " + filter.policy + ": ";
    if (filter.partitioned) {
      line += Count(filter.parts, "partition", "partitions") + ", index of " +
              std::to_string(filter.index_bytes) + " bytes at offset " +
              std::to_string(filter.index_offset) + ", filters of ";
    }
    line += std::to_string(filter.bytes) + " bytes";
    if (filter.bits_per_key.has_value()) {
      char number[32];
      std::snprintf(number, sizeof(number), ", %.2f bits per key",
                    *filter.bits_per_key);
      line += number;
    }
    console_->Line(line);
  }

  void Part(const FilterPart& part) override {
    console_->Line("    offset " + std::to_string(part.offset) + ", " +
                   std::to_string(part.bytes) + " bytes, checksum " +
                   ChecksumState(has_checksums_, part) +
                   (part.layout.empty() ? "" : ": " + part.layout));
    if (!part.error.empty()) console_->Error(part.error);
  }

  void EndFilter() override {}

  void EndFile(const std::string& error) override {
    if (!error.empty()) console_->Error(error);
  }

  void Gone() override {}

  // Of a single file everything was said.
  void Summary(const InspectSummary& summary) override {
    const uint64_t files = summary.sound + summary.without_filter.size() +
                           summary.not_sound.size() + summary.gone;
    if (files < 2) return;
    console_->Line(
        std::to_string(files) + " files: " + std::to_string(summary.sound) +
        " with sound filters, " +
        std::to_string(summary.without_filter.size()) + " without a filter, " +
        std::to_string(summary.not_sound.size()) + " not sound" +
        (summary.gone == 0
             ? ""
             : ", " + std::to_string(summary.gone) + " gone meanwhile"));
    for (const std::string& path : summary.without_filter) {
      console_->Line("  without a filter: " + path);
    }
    for (const std::string& path : summary.not_sound) {
      console_->Line("  not sound: " + path);
    }
  }

 private:
  Console* const console_;
  std::string path_;
  bool has_checksums_ = false;
};

class DocumentOutput : public InspectOutput {
 public:
  explicit DocumentOutput(Console* console)
      : console_(console),
        json_(console->json()),
        files_(json_->Array("files")) {}

  void BeginFile(const std::string& path) override {
    file_.emplace(json_->Object());
    json_->Text("file", path);
  }

  void File(const FileReport& file) override {
    has_checksums_ = file.has_checksums;
    json_->Text("engine", file.engine);
    json_->Number("format_version", uint64_t{file.format_version});
    json_->Text("checksum", file.checksum);
    if (file.keys.has_value()) {
      json_->Number("keys", *file.keys);
    } else {
      json_->Null("keys");
    }
    filters_.emplace(json_->Array("filters"));
  }

  void Filter(const FilterReport& filter) override {
    filter_.emplace(json_->Object());
    json_->Text("kind", filter.kind);
    json_->Text("policy", filter.policy);
    json_->Number("bytes", filter.bytes);
    if (filter.bits_per_key.has_value()) {
      json_->Number("bits_per_key", *filter.bits_per_key);
    } else {
      json_->Null("bits_per_key");
    }
    if (filter.partitioned) {
      const auto index = json_->Object("index");
      json_->Number("offset", filter.index_offset);
      json_->Number("bytes", filter.index_bytes);
    }
    parts_.emplace(json_->Array("parts"));
  }

  void Part(const FilterPart& part) override {
    const auto object = json_->Object();
    json_->Number("offset", part.offset);
    json_->Number("bytes", part.bytes);
    json_->Text("checksum", ChecksumState(has_checksums_, part));
    if (part.error.empty()) {
      json_->Text("layout", part.layout);
    } else {
      json_->Text("error", part.error);
      console_->Error(part.error);
    }
  }

  void EndFilter() override {
    parts_.reset();
    filter_.reset();
  }

  // Closes whatever an error left open.
  void EndFile(const std::string& error) override {
    EndFilter();
    filters_.reset();
    if (!error.empty()) {
      json_->Text("error", error);
      console_->Error(error);
    }
    file_.reset();
  }

  void Gone() override {
    EndFilter();
    filters_.reset();
    json_->Boolean("gone", true);
    file_.reset();
  }

  void Summary(const InspectSummary& summary) override {
    files_.reset();
    const auto object = json_->Object("summary");
    json_->Number("sound", summary.sound);
    List("without_filter", summary.without_filter);
    List("not_sound", summary.not_sound);
    json_->Number("gone", summary.gone);
  }

 private:
  void List(const char* key, const std::vector<std::string>& paths) {
    const auto array = json_->Array(key);
    for (const std::string& path : paths) json_->Text({}, path);
  }

  Console* const console_;
  JsonOutput* const json_;
  // From the outermost to the innermost.
  std::optional<JsonOutput::Scope> files_;
  std::optional<JsonOutput::Scope> file_;
  std::optional<JsonOutput::Scope> filters_;
  std::optional<JsonOutput::Scope> filter_;
  std::optional<JsonOutput::Scope> parts_;
  bool has_checksums_ = false;
};

}  // namespace

std::unique_ptr<InspectOutput> NewInspectOutput(Console* console) {
  if (console->json() != nullptr) {
    return std::make_unique<DocumentOutput>(console);
  }
  return std::make_unique<TextOutput>(console);
}

}  // namespace deltabloom::tools
