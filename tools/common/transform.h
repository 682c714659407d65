#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "formats/document.h"
#include "formats/stream.h"
#include "tools/common/driver.h"
#include "tools/common/pass_printer.h"

namespace penstock::tools {

/// Writes documents as --emit, --pretty, -o and the input's own encoding ask for, one at a time, so
/// that a reader behind a pipe sees each as soon as it is there.
class DocumentSink {
 public:
  /// `input` is the encoding that `--emit=auto` keeps.
  DocumentSink(Stage& stage, formats::Encoding input, formats::WriteOptions options = {});
  Result<void> write(const formats::Document& document);

 private:
  Stage& stage_;
  bool text_ = false;
  formats::Encoding encoding_;
  std::optional<formats::DocumentWriter> writer_;
  formats::WriteOptions options_;
};

/// A document as --emit=text shows it: graphs as their level prints them, the rest as one line.
Result<std::string> text_of(const formats::Document& document);
/// The text of a graph of any level.
std::string text_of(const formats::GraphDocument& document);

/// A diagnostic whose place in the Python source names its file so that it can be opened from
/// anywhere.
Diagnostic with_readable_file(Diagnostic diagnostic, const formats::Meta& meta);

/// Reads the stream named by `file` ("-": standard input) and hands every document to `visit`. What
/// a packed file holds goes to the store that `store` (--store) names.
using Visit =
    std::function<Result<void>(formats::Document document, const formats::DocumentReader&)>;
Result<void> for_each_document(Stage& stage, const std::string& file, const Visit& visit,
                               formats::ReadOptions options = {}, const std::string& store = {});

/// Reads the one stream that the command line names and writes its documents as `how` says.
Result<void> copy_documents(Stage& stage, const formats::WriteOptions& how);

/// What a stage makes of one graph of its input level: one graph or several.
using Rewrite = std::function<Result<std::vector<formats::GraphDocument>>(
    formats::GraphDocument document, PassTrace& trace)>;

/// A room's function from one level's type to another's as a Rewrite: `function(In, PassTrace&)`
/// gives a Result of a graph type, or of a vector of one. `function` must outlive it.
template <class In, class Function>
Rewrite graph_rewrite(Function& function) {
  return [&function](formats::GraphDocument document,
                     PassTrace& trace) -> Result<std::vector<formats::GraphDocument>> {
    auto out = function(std::get<In>(std::move(document.graph)), trace);
    if (!out) return tl::unexpected(std::move(out.error()));
    std::vector<formats::GraphDocument> documents;
    if constexpr (requires { out->begin(); }) {
      for (auto& graph : *out) documents.push_back({std::move(graph), document.meta});
    } else {
      documents.push_back({std::move(*out), std::move(document.meta)});
    }
    return documents;
  };
}

/// What a stage does inside Stage::run: reads one stream, rewrites its graphs, which must be of
/// level `level`, and passes every other document through.
Result<void> transform_documents(Stage& stage, Level level, const Rewrite& rewrite);

/// A whole stage that does nothing else. Returns the exit status.
template <class In, class Function>
int map_graphs(Stage& stage, Level level, Function function) {
  return stage.run(
      [&](Stage&) { return transform_documents(stage, level, graph_rewrite<In>(function)); });
}

}  // namespace penstock::tools
