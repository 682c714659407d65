// Helper reduce: a smaller stream with which a command still fails.
#include <fmt/format.h>

#include <algorithm>

#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/reduce/oracle.h"
#include "tools/reduce/shrink.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

using Stream = std::vector<formats::Document>;

struct ReduceOptions {
  std::string store;
  std::string matching;  ///< text that the command has to print
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

/// What the command makes of the whole stream, which is what its parts are held against.
Result<Answer> wanted_answer(Oracle& oracle, const Stream& stream, const ReduceOptions& options) {
  auto bytes = bytes_of(stream);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  auto answer = oracle.ask(*bytes);
  if (!answer || answer->interrupted) return answer;
  if (options.matching.empty() && answer->status == 0) {
    return failure(Code::PS0807,
                   "the command succeeds on the whole stream: there is nothing to look for");
  }
  if (!answer->printed) {
    return failure(Code::PS0807, fmt::format("on the whole stream the command does not print {:?}",
                                             options.matching));
  }
  return answer;
}

Result<void> reduce(Stage& stage, const ReduceOptions& options) {
  std::vector<std::string> words = stage.settings().files;
  if (words.size() < 2) {
    return failure(Code::PS0101, "reduce takes a file and a command that reads such a stream");
  }
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  Stream stream;
  std::optional<formats::Encoding> encoding;
  auto keep = [&](formats::Document document, const formats::DocumentReader& reader) {
    encoding = reader.encoding();
    stream.push_back(std::move(document));
    return Result<void>();
  };
  if (auto read = for_each_document(stage, words.front(), keep, {}, options.store); !read)
    return read;
  words.erase(words.begin());

  Oracle oracle(std::move(words), options.timeout, options.matching);
  auto wanted = wanted_answer(oracle, stream, options);
  if (!wanted) return tl::unexpected(std::move(wanted.error()));
  bool stopped = wanted->interrupted;
  const bool with_graph = holds_graph(stream);
  auto interesting = [&](const Stream& candidate) {
    // With nothing left to look at, most commands fail somehow.
    if (stopped || (with_graph && !holds_graph(candidate))) return false;
    auto bytes = bytes_of(candidate);
    auto answer = bytes ? oracle.ask(*bytes) : tl::unexpected(bytes.error());
    stage.count("streams tried");
    stopped = answer && answer->interrupted;
    return answer && same_failure(*answer, *wanted);
  };
  Stream small = shrink(std::move(stream), *store, interesting);
  if (stopped) stage.say("penstock-reduce: stopped; this is the smallest stream up to here\n");
  DocumentSink sink(stage, encoding.value_or(formats::Encoding::json));
  for (const formats::Document& document : small) {
    if (auto written = sink.write(document); !written) return written;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  ReduceOptions options;
  Stage stage(find_tool("reduce"), argc, argv, {.program = true});
  stage.options().text("--matching", options.matching, "TEXT",
                       "Look for streams for which the command prints TEXT, too.");
  stage.options().integer("--timeout", options.timeout, "SECONDS",
                          "Kill a command that runs longer; its status is 124 then.");
  stage.options().text("--store", options.store, "DIR",
                       "Take tensors from the store in DIR, and put new ones there.");
  return stage.run([&](Stage& s) { return reduce(s, options); });
}
