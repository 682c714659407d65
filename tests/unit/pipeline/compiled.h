#pragma once

#include <filesystem>

#include "../fusion/run_program.h"
#include "pipeline/codegen_library.h"
#include "pipeline/stored_code.h"
#include "runtime/executor.h"

namespace penstock::pipeline {

/// A store that is gone when the tests are.
class TestStore {
 public:
  TestStore() : path_(std::filesystem::temp_directory_path() / "penstock-test-store-XXXXXX") {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
    store.emplace(path_);
  }
  ~TestStore() { std::filesystem::remove_all(path_); }
  std::optional<store::Store> store;

 private:
  std::string path_;
};

inline store::Store& test_store() {
  static TestStore made;
  return *made.store;
}

inline std::shared_ptr<runtime::Runtime> test_runtime() {
  static auto made = std::make_shared<runtime::Runtime>();
  return made;
}

inline KernelBundle generate(const LoopProgram& program, codegen::CodegenOptions options = {},
                             codegen::CodegenStatistics* statistics = nullptr) {
  StoredCode sink(test_store());
  auto bundle = pipeline::generate_code(program, options, sink, statistics);
  REQUIRE_MESSAGE(bundle.has_value(), (bundle.error().place + ": " + bundle.error().message));
  return *bundle;
}

inline std::unique_ptr<runtime::Executor> load(KernelBundle bundle) {
  static StoredBlobs blobs(test_store());
  auto executor = runtime::Executor::create(test_runtime(), std::move(bundle), blobs);
  REQUIRE_MESSAGE(executor.has_value(), executor.error().message);
  return std::move(*executor);
}

inline std::vector<runtime::TensorArgument> arguments_of(std::vector<ops::HostTensor>& inputs) {
  std::vector<runtime::TensorArgument> arguments;
  for (ops::HostTensor& input : inputs) {
    arguments.push_back({input.memory->data(), input.sizes, input.strides, 1});
  }
  return arguments;
}

/// The elements of an output in row-major order.
inline std::vector<double> elements(const runtime::OutputTensor& output) {
  ops::HostTensor tensor;
  tensor.dtype = output.dtype;
  tensor.sizes.assign(output.sizes.begin(), output.sizes.end());
  tensor.strides.assign(output.strides.begin(), output.strides.end());
  std::int64_t last = 1;
  for (std::size_t d = 0; d < output.sizes.size(); ++d)
    last += (output.sizes[d] - 1) * output.strides[d];
  const auto* bytes = static_cast<const std::byte*>(output.data);
  std::int64_t length = tensor.count() == 0 ? 0 : last * facts(output.dtype).size;
  tensor.memory = std::make_shared<std::vector<std::byte>>(bytes, bytes + length);
  return fusion::numbers({tensor}).front();
}

inline std::vector<std::vector<double>> run(runtime::Executor& executor,
                                            std::vector<ops::HostTensor> inputs) {
  auto arguments = arguments_of(inputs);
  std::vector<runtime::OutputTensor> outputs(executor.bundle().outputs.size());
  auto done = executor.run(arguments, outputs);
  REQUIRE_MESSAGE(done.has_value(), done.error().message);
  std::vector<std::vector<double>> values;
  for (const auto& output : outputs) values.push_back(elements(output));
  return values;
}

/// Compiled code must give what the interpreter of the same program gives.
inline void check_compiled(const GraphBuilder& builder, double tolerance = 1e-5, unsigned seed = 1,
                           const codegen::CodegenOptions& options = {}) {
  LoopProgram program = fusion::fuse_graph(builder);
  std::vector<ops::HostTensor> inputs = fusion::random_inputs(program.interface, seed);
  auto expected = fusion::interpret(program, inputs);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  auto executor = load(generate(program, options));
  auto actual = run(*executor, inputs);
  std::vector<std::vector<double>> wanted = fusion::numbers(*expected);
  REQUIRE(actual.size() == wanted.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK_MESSAGE(fusion::difference(actual[i], wanted[i]) <= tolerance, to_text(program));
  }
}

}  // namespace penstock::pipeline
