// Counts the ops of a stream of documents, by name:
//   c++ count_ops.cpp $(pkg-config --cflags --libs penstock-formats) -o count_ops
//   penstock capture program.py | penstock decompose | ./count_ops
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

#include "formats/stream.h"

using namespace penstock;

int main() {
  auto standard_input = [](char* buffer, std::size_t size) -> Result<std::size_t> {
    const ssize_t got = read(STDIN_FILENO, buffer, size);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  };
  formats::DocumentReader reader(standard_input, "stdin");
  std::map<std::string, int> counts;
  while (true) {
    auto document = reader.next();
    if (!document) {
      std::fprintf(stderr, "%s\n", document.error().message.c_str());
      return 1;
    }
    if (!*document) break;
    const auto* graph = std::get_if<formats::GraphDocument>(&**document);
    if (graph == nullptr) continue;
    if (const auto* nodes = std::get_if<Graph>(&graph->graph)) {
      for (const Node& node : nodes->nodes) ++counts[std::string(node.op)];
    }
  }
  for (const auto& [name, count] : counts) std::printf("%6d  %s\n", count, name.c_str());
}
