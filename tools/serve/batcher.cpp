#include "tools/serve/batcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "embedding/tensor_copy.h"

namespace penstock::serve {

namespace {

using Clock = std::chrono::steady_clock;
using embedding::GivenTensor;
using embedding::ResultTensor;

/// Whether the symbol is the first of the sizes, and in no other one.
bool is_first_only(const TensorType& type, const std::string& symbol) {
  if (type.sizes.empty() || type.sizes.front() != SymExpr::symbol(symbol)) return false;
  return std::all_of(type.sizes.begin() + 1, type.sizes.end(), [&](const SymExpr& size) {
    bool found = false;
    size.for_each_symbol([&](std::string_view name) { found |= name == symbol; });
    return !found;
  });
}

/// The status for what a call fails with: what the request has, or what the server has not.
Problem problem_of(const Diagnostic& wrong) {
  const bool of_request = wrong.code == Code::PS0806 || wrong.code == Code::PS0808;
  const unsigned status = of_request ? 400 : wrong.code == Code::PS0803 ? 503 : 500;
  return {status, wrong.message};
}

/// A part of the rows of a result.
ResultTensor rows_from(const ResultTensor& all, std::int64_t first, std::int64_t count) {
  ResultTensor part = all;
  part.data = static_cast<const std::byte*>(all.data) +
              first * all.strides[0] * static_cast<std::int64_t>(facts(all.dtype).size);
  part.sizes[0] = count;
  return part;
}

}  // namespace

std::string batched_symbol(const KernelBundle& bundle) {
  const Interface& interface = bundle.interface;
  if (!interface.mutations.empty() || interface.outputs.empty()) return {};
  std::string symbol;
  for (const Input& input : interface.inputs) {
    if (!input.blob.empty()) continue;
    if (input.type.sizes.empty()) return {};
    if (symbol.empty()) symbol = input.type.sizes.front().symbol_name();
    if (symbol.empty() || !is_first_only(input.type, symbol)) return {};
  }
  const bool of_results = std::ranges::all_of(
      interface.outputs, [&](const Output& output) { return is_first_only(output.type, symbol); });
  return of_results ? symbol : std::string();
}

Batcher::Batcher(std::shared_ptr<const embedding::Model> model, const BatcherOptions& options)
    : model_(std::move(model)),
      options_(options),
      arguments_(model_->describe_arguments()),
      results_(model_->describe_results()) {
  const std::string symbol = batched_symbol(model_->bundle());
  for (const Symbol& one : model_->bundle().interface.symbols) {
    if (!symbol.empty() && one.name == symbol)
      most_rows_ = std::min(options.most_rows, one.maximum);
  }
}

Result<std::unique_ptr<Batcher>> Batcher::create(std::shared_ptr<const embedding::Model> model,
                                                 const BatcherOptions& options) {
  std::unique_ptr<Batcher> batcher(new Batcher(std::move(model), options));
  for (int i = 0; i < options.workers; ++i) {
    auto runner = embedding::Runner::create(batcher->model_);
    if (!runner) return tl::unexpected(std::move(runner.error()));
    batcher->runners_.push_back(std::move(*runner));
  }
  for (const auto& runner : batcher->runners_) {
    batcher->workers_.emplace_back([&self = *batcher, &runner = *runner] { self.work(runner); });
  }
  return batcher;
}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  came_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Answer<std::vector<std::size_t>> Batcher::order_of(const InferRequest& request) const {
  std::vector<std::size_t> order;
  for (const auto& argument : arguments_) {
    const auto found = std::ranges::find(request.inputs, argument.name, &RequestTensor::name);
    if (found == request.inputs.end())
      return problem(400, fmt::format("input {} is missing", argument.name));
    order.push_back(static_cast<std::size_t>(found - request.inputs.begin()));
  }
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (std::ranges::find(order, i) != order.end()) continue;
    return problem(400, fmt::format("input {} is not one of the model's, or given twice",
                                    request.inputs[i].name));
  }
  return order;
}

bool Batcher::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || waiting_.size() >= options_.most_waiting) return false;
    waiting_.push_back(std::move(job));
    metrics_.waiting(static_cast<std::int64_t>(waiting_.size()));
  }
  came_.notify_one();
  return true;
}

void Batcher::work(embedding::Runner& runner) {
  while (true) {
    std::vector<Job> jobs = next_jobs();
    if (jobs.empty()) return;
    serve(runner, std::move(jobs));
  }
}

/// Waits for requests; nothing once there are none and the end has come.
std::vector<Job> Batcher::next_jobs() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
  const bool may_wait = most_rows_ > 1 && options_.patience.count() > 0;
  if (may_wait && waiting_.size() == 1 && !ending_) {
    const auto until = waiting_.front().since + options_.patience;
    came_.wait_until(lock, until, [&] { return ending_ || waiting_.size() != 1; });
  }
  std::vector<Job> jobs = take_fitting();
  metrics_.waiting(static_cast<std::int64_t>(waiting_.size()));
  return jobs;
}

/// The oldest request, and those behind it that can be called with it.
std::vector<Job> Batcher::take_fitting() {
  std::vector<Job> jobs;
  if (waiting_.empty()) return jobs;
  jobs.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  std::int64_t rows = rows_of(jobs.front());
  for (auto next = waiting_.begin(); next != waiting_.end() && rows < most_rows_;) {
    const bool joins = fit_together(jobs.front(), *next) && rows + rows_of(*next) <= most_rows_;
    if (!joins) {
      ++next;
      continue;
    }
    rows += rows_of(*next);
    jobs.push_back(std::move(*next));
    next = waiting_.erase(next);
  }
  return jobs;
}

/// 0: the request's first input has no first size.
std::int64_t Batcher::rows_of(const Job& job) const {
  if (job.order.empty()) return 0;
  const auto& sizes = job.request.inputs[job.order[0]].sizes;
  return sizes.empty() ? 0 : sizes[0];
}

/// Whether both have rows of the same kind: what is wrong with a request must not meet another.
bool Batcher::fit_together(const Job& a, const Job& b) const {
  if (rows_of(a) == 0 || rows_of(b) == 0) return false;
  for (std::size_t i = 0; i < a.order.size(); ++i) {
    const RequestTensor& one = a.request.inputs[a.order[i]];
    const RequestTensor& other = b.request.inputs[b.order[i]];
    if (one.dtype != other.dtype || one.sizes.size() != other.sizes.size()) return false;
    if (one.sizes.empty() || one.sizes[0] != rows_of(a) || other.sizes[0] != rows_of(b))
      return false;
    if (!std::equal(one.sizes.begin() + 1, one.sizes.end(), other.sizes.begin() + 1)) return false;
  }
  return true;
}

/// The results of all rows together.
Answer<Batcher::Results> Batcher::call(embedding::Runner& runner, std::span<const Job> jobs) const {
  std::vector<std::vector<std::byte>> joined(arguments_.size());
  std::vector<std::vector<std::int64_t>> sizes(arguments_.size()), strides(arguments_.size());
  std::vector<GivenTensor> given;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const RequestTensor& first = jobs.front().request.inputs[jobs.front().order[i]];
    sizes[i] = first.sizes;
    const void* data = first.bytes.data();
    if (jobs.size() > 1) {
      sizes[i][0] = 0;
      for (const Job& job : jobs) {
        const RequestTensor& tensor = job.request.inputs[job.order[i]];
        joined[i].insert(joined[i].end(), tensor.bytes.begin(), tensor.bytes.end());
        sizes[i][0] += tensor.sizes[0];
      }
      data = joined[i].data();
    }
    strides[i] = embedding::row_major_strides(sizes[i]);
    static constexpr std::byte kNothing{};
    given.push_back({data == nullptr ? &kNothing : data, first.dtype, sizes[i], strides[i]});
  }
  try {
    auto results = runner.run(given, options_.threads);
    if (results) return std::move(*results);
    return tl::unexpected(problem_of(results.error()));
  } catch (const std::exception& thrown) {
    return problem(503, thrown.what());
  }
}

/// Calls the model for all at once; where that fails, for each alone, so that none pays for
/// another.
void Batcher::serve(embedding::Runner& runner, std::vector<Job> jobs) {
  const auto begin = Clock::now();
  auto all = call(runner, jobs);
  if (!all && jobs.size() > 1) {
    for (Job& job : jobs) {
      std::vector<Job> alone;
      alone.push_back(std::move(job));
      serve(runner, std::move(alone));
    }
    return;
  }
  std::int64_t rows = 0;
  if (jobs.size() > 1) {
    for (const Job& job : jobs) rows += rows_of(job);
  }
  metrics_.ran(static_cast<std::int64_t>(jobs.size()), rows, Clock::now() - begin,
               begin - jobs.front().since);
  if (jobs.size() == 1) return jobs.front().done(jobs.front().request, std::move(all));
  std::int64_t first = 0;
  for (const Job& job : jobs) {
    Results own;
    for (const ResultTensor& result : *all) own.push_back(rows_from(result, first, rows_of(job)));
    first += rows_of(job);
    job.done(job.request, std::move(own));
  }
}

}  // namespace penstock::serve
