#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/serve/metrics.h"
#include "tools/serve/protocol.h"

namespace penstock::serve {

/// How a model is called.
struct BatcherOptions {
  int workers = 1;                        ///< calls at a time
  int threads = 0;                        ///< of each call; 0: as many as OpenMP gives
  std::int64_t most_rows = 64;            ///< of requests that are called together; 1: none are
  std::chrono::microseconds patience{0};  ///< for further requests, where one waits alone
  std::size_t most_waiting = 256;
};

/// What a request asks of its model, and who waits for it.
struct Job {
  InferRequest request;
  std::vector<std::size_t> order;  ///< by argument of the model: its input in the request
  /// Called once, on a worker's thread, with the request and the results for it alone.
  std::function<void(const InferRequest&, Answer<std::vector<embedding::ResultTensor>>)> done;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// The size along which calls of a model can be joined: a symbol that is the first size of every
/// argument and every result and nothing else, so that a call of all rows gives the rows of each.
/// Empty: there is none.
std::string batched_symbol(const KernelBundle& bundle);

/// Calls one model for requests as they come: those that wait and differ in nothing but their
/// number of rows are called together. What is submitted is answered, whatever happens.
class Batcher {
 public:
  static Result<std::unique_ptr<Batcher>> create(std::shared_ptr<const embedding::Model> model,
                                                 const BatcherOptions& options);
  /// Answers all that waits, then ends.
  ~Batcher();

  /// 400 for a request that is no call of the model: inputs that it lacks, or does not have.
  Answer<std::vector<std::size_t>> order_of(const InferRequest& request) const;
  /// False: too many wait already, and nothing was taken.
  bool submit(Job job);

  const embedding::Model& model() const { return *model_; }
  /// Model::describe_results(), which every answer needs.
  const std::vector<embedding::ValueDescription>& results() const { return results_; }
  ModelMetrics& metrics() { return metrics_; }
  /// How many rows are called together at most; 1: the model has no size for it.
  std::int64_t most_rows() const { return most_rows_; }

 private:
  using Results = std::vector<embedding::ResultTensor>;
  Batcher(std::shared_ptr<const embedding::Model> model, const BatcherOptions& options);
  void work(embedding::Runner& runner);
  std::vector<Job> next_jobs();
  std::vector<Job> take_fitting();
  std::int64_t rows_of(const Job& job) const;
  bool fit_together(const Job& a, const Job& b) const;
  Answer<Results> call(embedding::Runner& runner, std::span<const Job> jobs) const;
  void serve(embedding::Runner& runner, std::vector<Job> jobs);

  std::shared_ptr<const embedding::Model> model_;
  BatcherOptions options_;
  std::int64_t most_rows_ = 1;
  std::vector<embedding::ValueDescription> arguments_, results_;
  ModelMetrics metrics_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Job> waiting_;
  bool ending_ = false;
  std::vector<std::unique_ptr<embedding::Runner>> runners_;
  std::vector<std::thread> workers_;
};

}  // namespace penstock::serve
