#include "tools/common/blobs.h"

#include <unordered_set>

namespace penstock::tools {
namespace {

class Collector {
 public:
  void add(const std::string& blob) {
    if (!blob.empty() && seen_.insert(blob).second) out.push_back(blob);
  }
  void add(const std::vector<Buffer>& buffers) {
    for (const Buffer& buffer : buffers) add(buffer.blob);
  }
  void operator()(const Graph&) {}
  void operator()(const PlacedGraph&) {}
  void operator()(const LoopProgram& program) { add(program.buffers); }
  void operator()(const KernelBundle& bundle) {
    add(bundle.buffers);
    for (const KernelBundle::Code& code : bundle.code) add(code.blob);
  }

  std::vector<std::string> out;

 private:
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<std::string> blobs_of(const formats::GraphDocument& document) {
  Collector collector;
  for (const Input& input : formats::interface_of(document).inputs) collector.add(input.blob);
  for (const penstock::Output& output : formats::interface_of(document).outputs) {
    collector.add(output.blob);
  }
  std::visit([&](const auto& graph) { collector(graph); }, document.graph);
  return std::move(collector.out);
}

}  // namespace penstock::tools
