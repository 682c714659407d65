#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace penstock::serve {

/// What a server has done for one model. Thread-safe.
class ModelMetrics {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// A request was answered with `status`, `time` after it was read.
  void answered(unsigned status, Duration time);
  /// The model was called for so many requests at once, `rows` of the batched size together (0: not
  /// batched), and that took `time`; the oldest of them had waited for `waited`.
  void ran(std::int64_t requests, std::int64_t rows, Duration time, Duration waited);
  void waiting(std::int64_t requests);

  /// In Prometheus' text format; `model` is the value of the label.
  std::string text(const std::string& model) const;
  /// The object of Triton's statistics extension.
  std::string statistics(const std::string& model) const;

 private:
  /// Upper ends of the histogram's buckets, in seconds.
  static constexpr std::array<double, 12> kBuckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,   0.25,   0.5,   1,    2.5,   10};
  mutable std::mutex mutex_;
  std::map<unsigned, std::int64_t> by_status_;
  std::array<std::int64_t, kBuckets.size() + 1> buckets_{};
  Duration answering_{}, running_{}, waited_{};
  std::int64_t runs_ = 0, requests_ = 0, rows_ = 0, waiting_ = 0;
};

/// The lines in front of the models': what each figure is.
std::string metrics_head();

}  // namespace penstock::serve
