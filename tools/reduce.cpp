// Helper reduce: a smaller stream, or a shorter program, with which a command still fails.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tools/common/launch.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/program/recognise.h"
#include "tools/reduce/repro.h"
#include "tools/reduce/search.h"
#include "tools/reduce/shrink.h"
#include "tools/reduce/shrink_program.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

using Stream = std::vector<formats::Document>;

struct ReduceOptions {
  std::string store;
  std::string matching;  ///< text that the command has to print
  std::string repro;     ///< the file that gets the result with all that it needs
  std::string python;    ///< that reads programs
  int timeout = 300;     ///< seconds
};

Result<std::string> bytes_of(const Stream& stream) {
  std::string out;
  for (const formats::Document& document : stream) {
    auto line = formats::encode(document, {});
    if (!line) return line;
    out += *line;
  }
  return out;
}

bool holds_graph(const Stream& stream) {
  return std::any_of(stream.begin(), stream.end(), [](const formats::Document& document) {
    return std::holds_alternative<formats::GraphDocument>(document);
  });
}

/// Writes the file for replay, and says so.
Result<void> keep(Stage& stage, const ReduceOptions& options, Repro repro, store::Store& store) {
  if (auto written = write_repro(options.repro, repro, store); !written) return written;
  stage.say(fmt::format("wrote {}; `penstock replay {}` says whether it still fails\n",
                        options.repro, options.repro));
  return {};
}

Result<void> reduce_stream(Stage& stage, const ReduceOptions& options, const std::string& file,
                           Question question) {
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  Stream stream;
  std::optional<formats::Encoding> encoding;
  auto collect = [&](formats::Document document, const formats::DocumentReader& reader) {
    encoding = reader.encoding();
    stream.push_back(std::move(document));
    return Result<void>();
  };
  if (auto read = for_each_document(stage, file, collect, {}, options.store); !read) return read;
  auto whole = bytes_of(stream);
  if (!whole) return tl::unexpected(std::move(whole.error()));

  question.file = "stream.json";
  Oracle oracle(question);
  auto wanted = wanted_answer(oracle, *whole, options.matching);
  if (!wanted) return tl::unexpected(std::move(wanted.error()));
  Search search(stage, oracle, std::move(*wanted), whole->size());
  const bool with_graph = holds_graph(stream);
  auto interesting = [&](const Stream& candidate) {
    // With nothing left to look at, most commands fail somehow.
    if (with_graph && !holds_graph(candidate)) return false;
    auto bytes = bytes_of(candidate);
    return bytes && search.fails(*bytes);
  };
  Stream small = shrink(std::move(stream), *store, interesting);
  search.finish("stream");
  if (!options.repro.empty())
    return keep(stage, options, {std::move(question), search.wanted(), {}, std::move(small)},
                *store);
  DocumentSink sink(stage, encoding.value_or(formats::Encoding::json));
  for (const formats::Document& document : small) {
    if (auto written = sink.write(document); !written) return written;
  }
  return {};
}

/// The modules beside the program can be imported from wherever its parts lie.
void import_from(const std::filesystem::path& folder) {
  const char* before = std::getenv("PYTHONPATH");
  const std::string path =
      before == nullptr || *before == '\0' ? folder.string() : folder.string() + ":" + before;
  setenv("PYTHONPATH", path.c_str(), 1);
}

Result<void> reduce_program(Stage& stage, const ReduceOptions& options, const std::string& file,
                            Question question) {
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  auto python = find_python(options.python);
  if (!python) return tl::unexpected(std::move(python.error()));
  auto whole = stage.read(file, [](std::string_view) -> Result<std::optional<std::uint64_t>> {
    return std::optional<std::uint64_t>();
  });
  if (!whole) return tl::unexpected(std::move(whole.error()));
  const Outliner outliner(*python);
  auto readable = outliner.outline(*whole);
  if (!readable) return tl::unexpected(std::move(readable.error()));
  if (!*readable) return failure(Code::PS0101, fmt::format("'{}' is no Python program", file));

  const std::filesystem::path path = file == "-" ? "program.py" : file;
  import_from(std::filesystem::absolute(path).parent_path());
  question.file = path.filename();
  Oracle oracle(question);
  auto wanted = wanted_answer(oracle, *whole, options.matching);
  if (!wanted) return tl::unexpected(std::move(wanted.error()));
  Search search(stage, oracle, std::move(*wanted), whole->size());
  auto small = shrink_program(outliner, std::move(*whole),
                              [&](const std::string& part) { return search.fails(part); });
  if (!small) return tl::unexpected(std::move(small.error()));
  search.finish("program");
  if (!options.repro.empty())
    return keep(stage, options, {std::move(question), search.wanted(), std::move(*small), {}},
                *store);
  return stage.write(*small);
}

Result<void> reduce(Stage& stage, const ReduceOptions& options) {
  std::vector<std::string> words = stage.settings().files;
  if (words.size() < 2) {
    return failure(Code::PS0101,
                   "reduce takes a file and a command that reads such a stream or program");
  }
  const std::string file = std::move(words.front());
  words.erase(words.begin());
  Question question{std::move(words), options.timeout, options.matching, {}};
  return file != "-" && names_program(file)
             ? reduce_program(stage, options, file, std::move(question))
             : reduce_stream(stage, options, file, std::move(question));
}

}  // namespace

int main(int argc, char** argv) {
  ReduceOptions options;
  Stage stage(find_tool("reduce"), argc, argv, {.program = true});
  stage.options().text("--repro", options.repro, "FILE",
                       "Write the result to FILE, with its tensors and the command, for "
                       "`penstock replay`.");
  stage.options().text("--matching", options.matching, "TEXT",
                       "Look for parts for which the command prints TEXT, too.");
  stage.options().integer("--timeout", options.timeout, "SECONDS",
                          "Kill a command that runs longer; its status is 124 then.");
  stage.options().text("--python", options.python, "PYTHON", "Read a program with this Python.");
  stage.options().text("--store", options.store, "DIR",
                       "Take tensors from the store in DIR, and put new ones there.");
  return stage.run([&](Stage& s) { return reduce(s, options); });
}
