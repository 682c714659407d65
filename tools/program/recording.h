#pragma once

#include <memory>

#include "formats/stream.h"
#include "tools/common/capture_counts.h"
#include "tools/program/program.h"

namespace penstock::tools {

/// What the program's process counted.
std::unique_ptr<CaptureCounts> counts_of(const LaunchOutcome& outcome);

/// Document `end` of what was counted so far.
formats::EndDocument end_document(const CaptureCounts& counts, const LaunchOutcome& outcome);

/// The documents of one run of a program. This process writes the first and the last one, the
/// program's process those between (tools/extension/document_sink.h): so the last one is right
/// however the program ends.
class Recording {
 public:
  /// Writes document `program` to `output`, which must outlive the recording; in lines of JSON
  /// where somebody reads them before the end (`live`), else as the options ask for.
  static Result<Recording> begin(const Stage& stage, const ProgramOptions& options,
                                 const std::vector<std::string>& words, Output& output,
                                 bool live = false);

  /// Tells the program's process how to write; its output is the caller's to choose.
  void tell(LaunchOptions& launched) const;

  /// Writes document `end` for a program that was reached. What it counted; or, with the stream
  /// complete but for it, what the program's process could not write.
  Result<std::unique_ptr<CaptureCounts>> finish(const LaunchOutcome& outcome);

 private:
  Recording() = default;
  Result<void> write(const formats::Document& document);
  Output* output_ = nullptr;
  formats::WriteOptions how_;
  std::unique_ptr<formats::DocumentWriter> writer_;
};

}  // namespace penstock::tools
