#include "formats/diff.h"

#include <doctest/doctest.h>

#include "../graph_builder.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

/// A chain of unary ops of frame `frame`, `name`; each op was made in line 10, 11, … of `file`.
Document chain(const std::string& name, int frame, const std::vector<std::string>& ops,
               const std::string& file = "model.py") {
  GraphBuilder builder;
  ValueId at = builder.input({4});
  int line = 10;
  for (const std::string& op : ops) {
    at = builder.unary(op, at);
    Call call;
    auto mine = std::make_shared<const StackFrame>(
        StackFrame{name, Location{file, line++, 4, 0, -1}, nullptr});
    call.stack = std::make_shared<const StackFrame>(
        StackFrame{"inner", Location{"torch/inner.py", 7, 0, 0, -1}, mine});
    builder.graph.nodes.back().call = static_cast<std::int32_t>(builder.graph.calls.size());
    builder.graph.calls.push_back(std::move(call));
  }
  builder.output(at);
  builder.graph.interface.name = name;
  builder.graph.interface.id.frame = frame;
  return GraphDocument{builder.graph, {}};
}

Document program(const std::string& directory) {
  ProgramDocument document;
  document.directory = directory;
  document.meta.json = R"({"files":{"model.py":"/home/me/model.py",)"
                       R"("torch/inner.py":"/usr/lib/site-packages/torch/inner.py"}})";
  return document;
}

}  // namespace

TEST_CASE("a graph more in front shifts the numbers of the others, and is the only difference") {
  const std::vector<Document> before{chain("f", 0, {"neg", "exp", "abs"}),
                                     chain("f", 1, {"sin", "tanh", "exp"})};
  const std::vector<Document> after{chain("f", 0, {"log", "sqrt"}),
                                    chain("f", 1, {"neg", "exp", "abs", "neg"}),
                                    chain("f", 2, {"sin", "tanh", "exp"})};
  const StreamDifference found = compare(before, after);
  CHECK(found.same == 1);
  REQUIRE(found.graphs.size() == 2);
  CHECK(found.graphs[0].before == "0/0");
  CHECK(found.graphs[0].after == "1/0");
  CHECK(found.graphs[1].before.empty());
}

TEST_CASE("a changed graph keeps its partner whatever its number and name are now") {
  const std::vector<Document> before{chain("old", 0, {"neg", "exp", "abs", "sin", "tanh"}),
                                     chain("other", 1, {"log", "sqrt", "cos", "log", "sqrt"})};
  const std::vector<Document> after{chain("other", 0, {"log", "sqrt", "cos", "log", "cos"}),
                                    chain("new", 1, {"neg", "exp", "abs", "sin", "exp"})};
  const StreamDifference found = compare(before, after);
  REQUIRE(found.graphs.size() == 2);
  for (const GraphDifference& graph : found.graphs) {
    CHECK(graph.before != graph.after);
    CHECK(graph.comparison.differences.size() == 1);
  }
  CHECK(found.graphs[0].name == "new");
}

TEST_CASE("graphs that have little in common are one that is gone and one that is new") {
  const std::vector<Document> before{chain("f", 0, {"neg", "exp", "abs", "sin", "neg", "abs"})};
  const std::vector<Document> after{chain("g", 1, {"log", "sqrt", "cos", "log", "sqrt", "cos"})};
  const StreamDifference found = compare(before, after);
  REQUIRE(found.graphs.size() == 2);
  CHECK(found.graphs[0].after.empty());
  CHECK(found.graphs[1].before.empty());
  CHECK(to_text(found) == "- graph [0/0] f\n+ graph [1/0] g\n");
}

TEST_CASE("among very many changed graphs those of one name are compared") {
  std::vector<Document> before, after;
  for (int i = 0; i < 80; ++i) {
    const std::string name = "f" + std::to_string(i);
    const std::string op = i % 2 ? "sin" : "cos";
    before.push_back(chain(name, i, {"neg", "exp", "abs", op, "neg"}));
    after.push_back(chain(name, i + 1, {"neg", "exp", "abs", op, "log"}));
  }
  const StreamDifference found = compare(before, after);
  REQUIRE(found.graphs.size() == 80);
  for (const GraphDifference& graph : found.graphs) CHECK(graph.comparison.differences.size() == 1);
}

TEST_CASE("a difference names the line of the program's author, not the package's") {
  const std::vector<Document> before{program("/home/me"), chain("f", 0, {"neg", "exp"})};
  const std::vector<Document> after{program("/home/me"), chain("f", 0, {"neg", "abs"})};
  CHECK(to_text(compare(before, after)) ==
        "graph [0/0] f\n  ~ %v_1 prim.exp: op: prim.exp -> prim.abs  (model.py:11)\n");
  // Nothing is known of whose files these are: the innermost line is told.
  CHECK(to_text(compare({before[1]}, {after[1]})).find("(torch/inner.py:7)") != std::string::npos);
}

TEST_CASE("a line that moved is told with both numbers") {
  const std::vector<Document> before{program("/home/me"), chain("f", 0, {"neg"})};
  const std::vector<Document> after{program("/home/me"), chain("f", 0, {"exp", "neg", "abs"})};
  const std::string text = to_text(compare(before, after));
  CHECK(text.find("(model.py:10, now model.py:11)") != std::string::npos);
  CHECK(to_json(compare(before, after)).find("\"after_at\"") != std::string::npos);
}
