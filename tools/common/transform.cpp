#include "tools/common/transform.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "diag/render.h"
#include "formats/pack.h"
#include "fusion/contract.h"
#include "ir/interface.h"
#include "partition/contract.h"

namespace penstock::tools {
namespace {

using formats::Document;
using formats::Encoding;
using formats::GraphDocument;

Encoding chosen_encoding(const Settings& settings, Encoding input, bool terminal) {
  const std::string& file = settings.output;
  Encoding encoding = input == Encoding::cbor ? Encoding::cbor : Encoding::json;
  if (file.ends_with(".json")) encoding = Encoding::json;
  if (file.ends_with(".cbor")) encoding = Encoding::cbor;
  if (terminal) encoding = Encoding::json;  // auto never sends binary to a terminal
  if (settings.emit == "json") encoding = Encoding::json;
  if (settings.emit == "cbor") encoding = Encoding::cbor;
  bool pretty = settings.pretty || terminal;
  return encoding == Encoding::json && pretty ? Encoding::pretty : encoding;
}

/// The text of levels that have no notation of their own.
std::string readable_json(const Document& document) {
  formats::WriteOptions options;
  options.encoding = Encoding::pretty;
  options.strip_meta = true;
  Result<std::string> text = formats::encode(document, options);
  return text ? *text : text.error().message;
}

/// Keeps what --reproducer needs: the program document and the graph that is worked on.
class Reproducer {
 public:
  void see(const Document& document) {
    if (std::holds_alternative<formats::ProgramDocument>(document)) program_ = document;
    if (std::holds_alternative<GraphDocument>(document)) graph_ = document;
  }
  std::string bytes() const {
    std::string out;
    for (const auto& document :
         {program_, graph_, std::optional<Document>(formats::EndDocument{})}) {
      if (!document) continue;
      Result<std::string> line = formats::encode(*document, {});
      if (line) out += *line;
    }
    return out;
  }

 private:
  std::optional<Document> program_, graph_;
};

}  // namespace

Diagnostic with_readable_file(Diagnostic diagnostic, const formats::Meta& meta) {
  if (diagnostic.location) {
    diagnostic.location->file = formats::absolute_file(meta, diagnostic.location->file);
  }
  return diagnostic;
}

DocumentSink::DocumentSink(Stage& stage, Encoding input, formats::WriteOptions options)
    : stage_(stage),
      text_(stage.settings().emit == "text"),
      encoding_(chosen_encoding(stage.settings(), input,
                                stage.settings().output.empty() && is_terminal(STDOUT_FILENO))),
      options_(std::move(options)) {
  options_.encoding = encoding_;
}

Result<void> DocumentSink::write(const Document& document) {
  Result<Output*> out = stage_.output();
  if (!out) return tl::unexpected(out.error());
  if (encoding_ == Encoding::cbor && !text_ && is_terminal((*out)->descriptor())) {
    return failure(Code::PS0104, "CBOR would go to the terminal");
  }
  auto timer = stage_.phase("write");
  if (text_) {
    Result<std::string> text = text_of(document);
    if (!text) return tl::unexpected(text.error());
    if (auto written = (*out)->write(printable(*text)); !written) return written;
    return (*out)->flush();
  }
  if (!writer_) {
    writer_.emplace([out = *out](std::string_view bytes) { return out->write(bytes); }, options_);
  }
  if (auto written = writer_->write(document); !written) return written;
  return (*out)->flush();
}

std::string text_of(const GraphDocument& document) {
  if (const auto* graph = std::get_if<Graph>(&document.graph)) return to_text(*graph);
  if (const auto* placed = std::get_if<PlacedGraph>(&document.graph)) {
    return to_text(*placed);
  }
  if (const auto* program = std::get_if<LoopProgram>(&document.graph)) return to_text(*program);
  return readable_json(Document(document));
}

namespace {

/// "[0/0] toy_example: same, error 1.2e-07 (tolerance 0.001), 12.3 us a call"
std::string text_of(const formats::ResultDocument& result) {
  std::string out = fmt::format("[{}] {}: {}", to_string(result.id), result.name,
                                formats::to_string(result.verdict));
  double error = 0;
  for (const auto& row : result.compared) error = std::max(error, row.error);
  if (!result.compared.empty()) {
    out += fmt::format(", error {:.2g} (tolerance {:.2g})", error, result.tolerance);
  }
  if (!result.reason.empty()) out += fmt::format(", {} {}", result.code, result.reason);
  for (const auto& timing : result.timings) {
    const double nanoseconds = static_cast<double>(std::max<std::int64_t>(timing.nanoseconds, 1));
    out += fmt::format("\n  {:<56}{:>12.1f} us", timing.name, nanoseconds / 1000);
    if (timing.flops == 0 && timing.bytes == 0) continue;
    out += fmt::format("{:>9.1f} GFLOP/s{:>8.1f} GB/s",
                       static_cast<double>(timing.flops) / nanoseconds,
                       static_cast<double>(timing.bytes) / nanoseconds);
    if (timing.percent_of_roof > 0) out += fmt::format("{:>5.0f}% of roof", timing.percent_of_roof);
  }
  return out + "\n";
}

}  // namespace

Result<std::string> text_of(const Document& document) {
  if (const auto* result = std::get_if<formats::ResultDocument>(&document)) return text_of(*result);
  if (const auto* graph = std::get_if<GraphDocument>(&document)) return text_of(*graph) + "\n";
  formats::WriteOptions options;
  options.strip_meta = true;
  Result<std::string> line = formats::encode(document, options);
  if (!line) return line;
  return fmt::format("// {}", *line);
}

Result<void> for_each_document(Stage& stage, const std::string& file, const Visit& visit,
                               formats::ReadOptions options, const std::string& store) {
  Result<formats::DocumentReader> opened = formats::open_documents(file, store, options);
  if (!opened) return tl::unexpected(opened.error());
  formats::DocumentReader& reader = *opened;
  while (true) {
    Result<std::optional<Document>> document = [&] {
      auto timer = stage.phase("read");
      return reader.next();
    }();
    if (!document) return tl::unexpected(document.error());
    if (!document->has_value()) return {};
    stage.count(fmt::format("documents {}", formats::kind(**document)));
    if (auto visited = visit(std::move(**document), reader); !visited) return visited;
  }
}

namespace {

/// The one input of a tool that writes a stream: two streams have no meaning in one.
Result<std::string> single_input(const Stage& stage) {
  std::vector<std::string> inputs = stage.inputs();
  if (inputs.size() == 1) return inputs.front();
  return failure(Code::PS0101,
                 fmt::format("{} files, but this tool reads one stream", inputs.size()));
}

}  // namespace

Result<void> copy_documents(Stage& stage, const formats::WriteOptions& how) {
  Result<std::string> input = single_input(stage);
  if (!input) return tl::unexpected(input.error());
  std::optional<DocumentSink> sink;
  return for_each_document(stage, *input,
                           [&](Document document, const formats::DocumentReader& reader) {
                             if (!sink) sink.emplace(stage, reader.encoding(), how);
                             return sink->write(document);
                           });
}

Result<void> transform_documents(Stage& stage, Level level, const Rewrite& rewrite) {
  Result<std::string> input = single_input(stage);
  if (!input) return tl::unexpected(input.error());
  PassPrinter passes(stage);
  Reproducer reproducer;
  std::optional<DocumentSink> sink;
  auto visit = [&](Document document, const formats::DocumentReader& reader) -> Result<void> {
    if (!sink) sink.emplace(stage, reader.encoding());
    if (!stage.settings().reproducer.empty()) reproducer.see(document);
    auto* graph = std::get_if<GraphDocument>(&document);
    if (graph == nullptr) return sink->write(document);
    if (auto right = formats::expect_level(*graph, level); !right) {
      Diagnostic wrong = right.error();
      if (wrong.place.empty()) wrong.place = reader.place();
      return tl::unexpected(std::move(wrong));
    }
    const formats::Meta meta = graph->meta;
    passes.begin(to_string(formats::interface_of(*graph).id), [&] { return text_of(*graph); });
    Result<std::vector<GraphDocument>> out = rewrite(std::move(*graph), passes);
    if (!out) return tl::unexpected(with_readable_file(std::move(out.error()), meta));
    for (GraphDocument& made : *out) {
      if (auto written = sink->write(Document(std::move(made))); !written) return written;
    }
    return {};
  };
  Result<void> done = for_each_document(stage, *input, visit);
  if (!done && !stage.settings().reproducer.empty()) stage.reproduce_with(reproducer.bytes());
  return done;
}

}  // namespace penstock::tools
