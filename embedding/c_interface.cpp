// The C interface: the classes of this room behind opaque pointers, Results as errors that the
// caller owns, and whatever is thrown as errors too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <new>

#include "embedding/model.h"
#include "embedding/penstock.h"
#include "embedding/runner.h"
#include "embedding/tensor_copy.h"

using namespace penstock;
using namespace penstock::embedding;

struct penstock_error {
  std::string message, hint, code, place;
};

namespace {

/// Descriptions as C has them, and the memory that they point into.
class Values {
 public:
  explicit Values(std::vector<ValueDescription> described) : described_(std::move(described)) {
    for (const ValueDescription& value : described_) add(value);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  std::size_t count() const { return values_.size(); }
  const penstock_value* at(std::size_t index) const {
    return index < values_.size() ? &values_[index] : nullptr;
  }

 private:
  struct Sizes {
    std::vector<const char*> texts;
    std::vector<std::int64_t> least, greatest;
  };

  void add(const ValueDescription& value) {
    Sizes& sizes = sizes_.emplace_back();
    for (const SizeRange& size : value.sizes) {
      sizes.texts.push_back(size.text.c_str());
      sizes.least.push_back(size.least);
      sizes.greatest.push_back(size.greatest);
    }
    values_.push_back({value.name.c_str(),
                       static_cast<penstock_dtype>(facts(value.dtype).torch_scalar_type),
                       static_cast<std::int32_t>(value.sizes.size()), sizes.texts.data(),
                       sizes.least.data(), sizes.greatest.data(), value.new_value});
  }

  std::vector<ValueDescription> described_;
  std::deque<Sizes> sizes_;
  std::vector<penstock_value> values_;
};

std::string place_of(const Diagnostic& problem) {
  if (!problem.location) return problem.place;
  return fmt::format("{}:{}", problem.location->file.text(), problem.location->line);
}

penstock_error* error_of(const Diagnostic& problem) {
  const CodeFacts& code = facts(problem.code);
  return new penstock_error{problem.message,
                            problem.hint.empty() ? std::string(code.hint) : problem.hint,
                            std::string(code.id), place_of(problem)};
}

/// For where an error takes memory that is not there; nobody frees it.
penstock_error* no_memory() {
  static penstock_error error{"there is no memory left", "", "PS0803", ""};
  return &error;
}

/// What `work` gives, as an error or null; nothing is thrown over the border.
template <class Work>
penstock_error* guarded(const Work& work) noexcept {
  try {
    Result<void> done = work();
    return done ? nullptr : error_of(done.error());
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& thrown) {
    return new penstock_error{thrown.what(), "", "PS0601", ""};
  }
}

}  // namespace

struct penstock_model {
  explicit penstock_model(std::shared_ptr<const Model> loaded)
      : model(std::move(loaded)),
        arguments(model->describe_arguments()),
        results(model->describe_results()) {}
  std::shared_ptr<const Model> model;
  Values arguments, results;
};

struct penstock_runner {
  std::unique_ptr<Runner> runner;
  int threads = 0;
};

struct penstock_results {
  std::vector<ResultTensor> owned;
  std::vector<penstock_tensor> tensors;
};

namespace {

/// Arguments as the runner takes them, and strides of those that come without.
class Given {
 public:
  static Result<Given> of(const penstock_tensor* tensors, std::size_t count, const char* what) {
    Given out;
    for (std::size_t i = 0; i < count; ++i) {
      const penstock_tensor& tensor = tensors[i];
      const auto dtype = dtype_from_torch(tensor.dtype);
      if (!dtype)
        return failure(Code::PS0806, fmt::format("{} {} has no element type that there is: {}",
                                                 what, i, static_cast<int>(tensor.dtype)));
      if (tensor.rank < 0 || (tensor.rank > 0 && tensor.sizes == nullptr))
        return failure(Code::PS0806, fmt::format("{} {} has no sizes", what, i));
      const auto rank = static_cast<std::size_t>(tensor.rank);
      const std::span<const std::int64_t> sizes(tensor.sizes, rank);
      std::span<const std::int64_t> strides(tensor.strides, rank);
      if (tensor.strides == nullptr) strides = out.strides_.emplace_back(row_major_strides(sizes));
      out.tensors_.push_back({tensor.data, *dtype, sizes, strides});
    }
    return out;
  }
  std::span<const GivenTensor> tensors() const { return tensors_; }

 private:
  std::deque<std::vector<std::int64_t>> strides_;
  std::vector<GivenTensor> tensors_;
};

Result<std::vector<ResultTensor>> run(penstock_runner& runner, const penstock_tensor* arguments,
                                      std::size_t count) {
  auto given = Given::of(arguments, count, "argument");
  if (!given) return tl::unexpected(std::move(given.error()));
  return runner.runner->run(given->tensors(), runner.threads);
}

/// PS0806 unless the result goes into the place.
Result<void> put(const ResultTensor& result, const GivenTensor& place, std::size_t index) {
  if (result.dtype != place.dtype || !std::ranges::equal(result.sizes, place.sizes)) {
    return failure(Code::PS0806, fmt::format("result {} is {}{}, and its place is for {}{}", index,
                                             facts(result.dtype).name, result.sizes,
                                             facts(place.dtype).name, place.sizes));
  }
  if (place.data == nullptr && count_of(place.sizes) > 0)
    return failure(Code::PS0806, fmt::format("the place of result {} has no memory", index));
  copy_elements(const_cast<void*>(place.data), place.strides, result.data, result.strides,
                result.sizes, static_cast<std::size_t>(facts(result.dtype).size));
  return {};
}

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

ModelOptions options_of(const penstock_options* given) {
  // A program that was made with an older header has a shorter structure; its end is zeros here.
  penstock_options options{};
  if (given != nullptr) std::memcpy(&options, given, std::min(given->size, sizeof options));
  return {text_of(options.store), text_of(options.graph), options.trust != 0,
          options.deterministic != 0};
}

}  // namespace

const char* penstock_version(void) {
  return PENSTOCK_VERSION;
}

int penstock_api_version(void) {
  return PENSTOCK_API_VERSION;
}

const char* penstock_error_message(const penstock_error* error) {
  return error->message.c_str();
}

const char* penstock_error_hint(const penstock_error* error) {
  return error->hint.c_str();
}

const char* penstock_error_code(const penstock_error* error) {
  return error->code.c_str();
}

const char* penstock_error_place(const penstock_error* error) {
  return error->place.c_str();
}

void penstock_error_free(penstock_error* error) {
  if (error != no_memory()) delete error;
}

penstock_error* penstock_load(const char* path, const penstock_options* options,
                              penstock_model** model) {
  *model = nullptr;
  return guarded([&]() -> Result<void> {
    auto loaded = Model::load(text_of(path), options_of(options));
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    *model = new penstock_model(std::move(*loaded));
    return {};
  });
}

void penstock_model_free(penstock_model* model) {
  delete model;
}

const char* penstock_model_name(const penstock_model* model) {
  return model->model->bundle().interface.name.c_str();
}

size_t penstock_argument_count(const penstock_model* model) {
  return model->arguments.count();
}

size_t penstock_result_count(const penstock_model* model) {
  return model->results.count();
}

const penstock_value* penstock_argument(const penstock_model* model, size_t index) {
  return model->arguments.at(index);
}

const penstock_value* penstock_result(const penstock_model* model, size_t index) {
  return model->results.at(index);
}

penstock_error* penstock_runner_new(penstock_model* model, penstock_runner** runner) {
  *runner = nullptr;
  return guarded([&]() -> Result<void> {
    auto made = Runner::create(model->model);
    if (!made) return tl::unexpected(std::move(made.error()));
    *runner = new penstock_runner{std::move(*made)};
    return {};
  });
}

void penstock_runner_free(penstock_runner* runner) {
  delete runner;
}

void penstock_runner_set_threads(penstock_runner* runner, int threads) {
  runner->threads = threads;
}

penstock_error* penstock_run(penstock_runner* runner, const penstock_tensor* arguments,
                             size_t count, penstock_results** results) {
  *results = nullptr;
  return guarded([&]() -> Result<void> {
    auto ran = run(*runner, arguments, count);
    if (!ran) return tl::unexpected(std::move(ran.error()));
    auto made = std::make_unique<penstock_results>();
    made->owned = std::move(*ran);
    for (const ResultTensor& tensor : made->owned) {
      made->tensors.push_back({const_cast<void*>(tensor.data),
                               static_cast<penstock_dtype>(facts(tensor.dtype).torch_scalar_type),
                               static_cast<std::int32_t>(tensor.sizes.size()), tensor.sizes.data(),
                               tensor.strides.data()});
    }
    *results = made.release();
    return {};
  });
}

penstock_error* penstock_run_into(penstock_runner* runner, const penstock_tensor* arguments,
                                  size_t count, const penstock_tensor* places, size_t place_count) {
  return guarded([&]() -> Result<void> {
    auto wanted = Given::of(places, place_count, "place");
    if (!wanted) return tl::unexpected(std::move(wanted.error()));
    auto ran = run(*runner, arguments, count);
    if (!ran) return tl::unexpected(std::move(ran.error()));
    if (place_count > ran->size()) {
      return failure(Code::PS0806, fmt::format("{} places are given, and there are {} results",
                                               place_count, ran->size()));
    }
    for (std::size_t i = 0; i < place_count; ++i) {
      if (auto done = put((*ran)[i], wanted->tensors()[i], i); !done) return done;
    }
    return {};
  });
}

size_t penstock_results_count(const penstock_results* results) {
  return results->tensors.size();
}

const penstock_tensor* penstock_results_tensor(const penstock_results* results, size_t index) {
  return index < results->tensors.size() ? &results->tensors[index] : nullptr;
}

void penstock_results_free(penstock_results* results) {
  delete results;
}
