#include "embedding/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "embedding/tensor_copy.h"

namespace penstock::embedding {

namespace {

/// So many sets of sizes are remembered as good.
constexpr std::size_t kMostChecked = 1024;

/// Gives OpenMP's number back when the call is over.
class ThreadsOfCall {
 public:
  ThreadsOfCall(const runtime::ThreadTeam& team, int threads) : team_(team) {
    if (threads <= 0) return;
    before_ = team.size();
    team.resize(threads);
  }
  ~ThreadsOfCall() {
    if (before_ > 0) team_.resize(before_);
  }
  ThreadsOfCall(const ThreadsOfCall&) = delete;
  ThreadsOfCall& operator=(const ThreadsOfCall&) = delete;

 private:
  const runtime::ThreadTeam& team_;
  int before_ = 0;
};

std::size_t element_of(DType dtype) {
  return static_cast<std::size_t>(facts(dtype).size);
}

tl::unexpected<Diagnostic> other_tensor(const Input& input, const GivenTensor& given) {
  return failure(Code::PS0806,
                 fmt::format("argument {} is {}{}, the graph is called with {}", input.name,
                             facts(given.dtype).name, given.sizes, to_string(input.type)));
}

}  // namespace

Runner::Runner(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      inputs_(model_->bundle().interface.inputs.size()),
      copies_(inputs_.size()),
      outputs_(model_->bundle().interface.outputs.size()) {
  for (const Weight& weight : model_->weights()) {
    const auto at = static_cast<std::size_t>(weight.input);
    runtime::TensorArgument& input = inputs_[at];
    input.sizes = weight.stored->tensor().sizes;
    input.strides = weight.strides;
    input.version = weight.written ? runtime::kUnversioned : 0;
    if (!weight.written) {
      input.data = const_cast<void*>(weight.data());
      input.stored = weight.stored.get();
      continue;
    }
    const auto extent = extent_of(input.sizes, input.strides);
    const std::size_t element = element_of(weight.stored->tensor().dtype);
    copies_[at].bytes.resize(static_cast<std::size_t>(extent) * element);
    input.data = copies_[at].bytes.data();
  }
}

Result<std::unique_ptr<Runner>> Runner::create(std::shared_ptr<const Model> model) {
  std::unique_ptr<Runner> runner(new Runner(std::move(model)));
  for (const Weight& weight : runner->model_->weights()) {
    if (!weight.written) continue;  // the others are looked at where they are read
    if (auto whole = weight.stored->check(); !whole)
      return tl::unexpected(std::move(whole.error()));
  }
  auto executor = runner->model_->make_executor();
  if (!executor) return tl::unexpected(std::move(executor.error()));
  runner->executor_ = std::move(*executor);
  return runner;
}

Result<std::vector<ResultTensor>> Runner::run(std::span<const GivenTensor> arguments, int threads) {
  if (auto bound = bind(arguments); !bound) return tl::unexpected(std::move(bound.error()));
  renew_written_weights();
  const ThreadsOfCall of_call(model_->runtime().threads, threads);
  if (auto ran = executor_->run(inputs_, outputs_); !ran) {
    ran.error().severity = Severity::error;  // nobody runs it otherwise
    return tl::unexpected(std::move(ran.error()));
  }
  auto results = take_results();
  for (const ResultTensor& result : results) {
    if (result.data == nullptr) return failure(Code::PS0803, "there is no memory for a result");
  }
  return results;
}

/// Makes inputs of the arguments: first as they are, so that symbols have their values, then where
/// and as the graph reads them.
Result<void> Runner::bind(std::span<const GivenTensor> arguments) {
  const KernelBundle& bundle = model_->bundle();
  const auto& places = model_->arguments();
  if (arguments.size() != places.size()) {
    return failure(Code::PS0806,
                   fmt::format("{} arguments are given, and {} takes {}", arguments.size(),
                               bundle.interface.name, places.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const GivenTensor& given = arguments[i];
    const auto at = static_cast<std::size_t>(places[i]);
    const Input& input = bundle.interface.inputs[at];
    if (given.dtype != input.type.dtype || given.sizes.size() != input.type.rank())
      return other_tensor(input, given);
    if (std::ranges::any_of(given.sizes, [](std::int64_t size) { return size < 0; }))
      return other_tensor(input, given);
    if (given.data == nullptr && count_of(given.sizes) > 0)
      return failure(Code::PS0806, fmt::format("argument {} has no memory", input.name));
    inputs_[at] = {const_cast<void*>(given.data), given.sizes, given.strides, runtime::kUnversioned,
                   nullptr};
  }
  const CallSizes sizes(bundle, model_->bindings(), inputs_);
  if (auto placed = place_arguments(arguments, sizes); !placed) return placed;
  if (checked_.contains(sizes.values())) return {};
  if (auto fits = check_call(bundle, sizes); !fits) return fits;
  if (checked_.size() >= kMostChecked) checked_.clear();
  checked_.insert(sizes.values());
  return {};
}

Result<void> Runner::place_arguments(std::span<const GivenTensor> arguments,
                                     const CallSizes& sizes) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (auto placed = place(i, arguments[i], sizes); !placed) return placed;
  }
  return {};
}

/// Checks the sizes of an argument, and copies it where it lies otherwise than the graph reads it
/// or the graph writes it.
Result<void> Runner::place(std::size_t argument, const GivenTensor& given, const CallSizes& sizes) {
  const auto at = static_cast<std::size_t>(model_->arguments()[argument]);
  const Input& input = model_->bundle().interface.inputs[at];
  Copy& copy = copies_[at];
  copy.strides.resize(given.sizes.size());
  for (std::size_t dim = 0; dim < given.sizes.size(); ++dim) {
    if (sizes(input.type.sizes[dim]).value_or(given.sizes[dim]) != given.sizes[dim])
      return other_tensor(input, given);
    copy.strides[dim] = sizes(input.type.strides[dim]).value_or(given.strides[dim]);
    const bool repeats = copy.strides[dim] == 0 && given.strides[dim] != 0;
    if (repeats && given.sizes[dim] > 1) {
      return failure(Code::PS0806,
                     fmt::format("argument {} was expanded along dim {} when it was exported: all "
                                 "elements there are one, with stride 0",
                                 input.name, dim));
    }
  }
  const bool as_read = same_places(given.sizes, given.strides, copy.strides);
  if (as_read && !is_written(model_->arguments()[argument])) return {};
  const std::size_t element = element_of(given.dtype);
  const std::int64_t extent = extent_of(given.sizes, copy.strides);
  copy.bytes.resize(static_cast<std::size_t>(extent) * element);
  copy_elements(copy.bytes.data(), copy.strides, given.data, given.strides, given.sizes, element);
  inputs_[at].data = copy.bytes.data();
  inputs_[at].strides = copy.strides;
  return {};
}

void Runner::renew_written_weights() {
  for (const Weight& weight : model_->weights()) {
    auto& bytes = copies_[static_cast<std::size_t>(weight.input)].bytes;
    if (weight.written && !bytes.empty()) std::memcpy(bytes.data(), weight.data(), bytes.size());
  }
}

bool Runner::is_written(std::int32_t input) const {
  return std::ranges::any_of(model_->bundle().interface.mutations,
                             [input](const Mutation& mutation) { return mutation.input == input; });
}

std::vector<ResultTensor> Runner::take_results() {
  std::vector<ResultTensor> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) results.push_back(take_result(i, results));
  return results;
}

/// A result is its own memory, or shows that of an earlier one; what lies in an input or a constant
/// is copied.
ResultTensor Runner::take_result(std::size_t index, const std::vector<ResultTensor>& earlier) {
  runtime::OutputTensor& output = outputs_[index];
  ResultTensor result{output.data,
                      output.dtype,
                      {output.sizes.begin(), output.sizes.end()},
                      {output.strides.begin(), output.strides.end()},
                      nullptr};
  if (output.memory) {
    result.memory = std::make_shared<runtime::PooledMemory>(std::move(output.memory));
    return result;
  }
  if (output.output >= 0 && static_cast<std::size_t>(output.output) < earlier.size()) {
    result.memory = earlier[static_cast<std::size_t>(output.output)].memory;
    return result;
  }
  const std::size_t element = element_of(output.dtype);
  const std::size_t bytes = static_cast<std::size_t>(count_of(result.sizes)) * element;
  auto memory = std::make_shared<runtime::PooledMemory>(executor_->memory(), bytes);
  result.data = memory->data();
  if (result.data == nullptr) return result;
  const auto rows = row_major_strides(result.sizes);
  copy_elements(memory->data(), rows, output.data, result.strides, result.sizes, element);
  result.strides = rows;
  result.memory = std::move(memory);
  return result;
}

}  // namespace penstock::embedding
