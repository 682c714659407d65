#include "tools/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::serve {

namespace {

double seconds(ModelMetrics::Duration time) {
  return std::chrono::duration<double>(time).count();
}

std::int64_t nanoseconds(ModelMetrics::Duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/// A label's value, escaped as Prometheus' text format wants it.
std::string label(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

void ModelMetrics::answered(unsigned status, Duration time) {
  const std::lock_guard lock(mutex_);
  ++by_status_[status];
  const auto bucket = std::ranges::lower_bound(kBuckets, seconds(time)) - kBuckets.begin();
  ++buckets_[static_cast<std::size_t>(bucket)];
  answering_ += time;
}

void ModelMetrics::ran(std::int64_t requests, std::int64_t rows, Duration time, Duration waited) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  requests_ += requests;
  rows_ += rows;
  running_ += time;
  waited_ += waited;
}

void ModelMetrics::waiting(std::int64_t requests) {
  const std::lock_guard lock(mutex_);
  waiting_ = requests;
}

std::string ModelMetrics::text(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const std::string name = label(model);
  std::string out;
  std::int64_t all = 0;
  for (const auto& [status, count] : by_status_) {
    out += fmt::format("penstock_requests_total{{model=\"{}\",status=\"{}\"}} {}\n", name, status,
                       count);
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    all += buckets_[i];
    const std::string end = i < kBuckets.size() ? fmt::format("{}", kBuckets[i]) : "+Inf";
    out += fmt::format("penstock_request_seconds_bucket{{model=\"{}\",le=\"{}\"}} {}\n", name, end,
                       all);
  }
  out += fmt::format("penstock_request_seconds_sum{{model=\"{}\"}} {:.9f}\n", name,
                     seconds(answering_));
  out += fmt::format("penstock_request_seconds_count{{model=\"{}\"}} {}\n", name, all);
  out += fmt::format("penstock_runs_total{{model=\"{}\"}} {}\n", name, runs_);
  out += fmt::format("penstock_run_requests_total{{model=\"{}\"}} {}\n", name, requests_);
  out += fmt::format("penstock_run_rows_total{{model=\"{}\"}} {}\n", name, rows_);
  out +=
      fmt::format("penstock_run_seconds_total{{model=\"{}\"}} {:.9f}\n", name, seconds(running_));
  out += fmt::format("penstock_waiting_requests{{model=\"{}\"}} {}\n", name, waiting_);
  return out;
}

std::string ModelMetrics::statistics(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  std::int64_t good = 0, bad = 0;
  for (const auto& [status, count] : by_status_) (status == 200 ? good : bad) += count;
  return fmt::format(
      R"({{"model_stats":[{{"name":"{}","version":"1","inference_count":{},"execution_count":{},)"
      R"("inference_stats":{{"success":{{"count":{},"ns":{}}},"fail":{{"count":{},"ns":0}},)"
      R"("queue":{{"count":{},"ns":{}}},"compute_infer":{{"count":{},"ns":{}}}}}}}]}})",
      label(model), requests_, runs_, good, nanoseconds(answering_), bad, requests_,
      nanoseconds(waited_), runs_, nanoseconds(running_));
}

std::string metrics_head() {
  return R"(# HELP penstock_requests_total Requests for inference that were answered, by HTTP status.
# TYPE penstock_requests_total counter
# HELP penstock_request_seconds From a request read whole to its answer made.
# TYPE penstock_request_seconds histogram
# HELP penstock_runs_total Calls of the model, each for one request or more.
# TYPE penstock_runs_total counter
# HELP penstock_run_requests_total Requests that the calls served.
# TYPE penstock_run_requests_total counter
# HELP penstock_run_rows_total Rows of the batched size in calls that were batched.
# TYPE penstock_run_rows_total counter
# HELP penstock_run_seconds_total Time in calls of the model.
# TYPE penstock_run_seconds_total counter
# HELP penstock_waiting_requests Requests that wait for a call.
# TYPE penstock_waiting_requests gauge
)";
}

}  // namespace penstock::serve
