// Calls of the library with arbitrary sizes, layouts, attributes and post-ops against what they
// have to give. PENSTOCK_SWEEP: how many of each kind; PENSTOCK_SWEEP_FROM: the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "library_sweep.h"

namespace penstock::runtime {

namespace {

std::int64_t number_from(const char* variable, std::int64_t missing) {
  const char* text = std::getenv(variable);
  return text == nullptr ? missing : std::atoll(text);
}

/// Runs the calls that `make` makes of seeds; gives the kernels that the library chose for them.
std::set<std::string> sweep_over(sweep::Call (*make)(std::uint64_t), std::int64_t usual) {
  static const std::shared_ptr<Library> library = *open_library(false);
  std::set<std::string> implementations;
  const std::int64_t first = number_from("PENSTOCK_SWEEP_FROM", 0);
  for (std::int64_t seed = first; seed < first + number_from("PENSTOCK_SWEEP", usual); ++seed) {
    sweep::Call call = make(static_cast<std::uint64_t>(seed));
    const std::string text = call.text();
    std::string implementation;
    const std::string problem = sweep::problem_of(*library, call, implementation);
    INFO("seed ", seed, ", ", implementation, ": ", text);
    CHECK(problem == "");
    implementations.insert(implementation);
  }
  return implementations;
}

}  // namespace

TEST_CASE("arbitrary convolutions") {
  const std::set<std::string> chosen = sweep_over(sweep::arbitrary_convolution, 100);
  CHECK_FALSE(chosen.contains("ref:any"));
}

TEST_CASE("arbitrary products") {
  const std::set<std::string> chosen = sweep_over(sweep::arbitrary_product, 300);
  CHECK_FALSE(chosen.contains("ref:any"));
}

TEST_CASE("arbitrary products whose sizes vary") {
  const auto make = [](std::uint64_t seed) {
    sweep::Call call = sweep::arbitrary_product(seed);
    call.varying = true;
    return call;
  };
  const std::set<std::string> chosen = sweep_over(make, 300);
  // oneDNN 3 says the dtype behind it.
  const auto is_general = [](const std::string& name) { return name.starts_with("gemm:jit"); };
  CHECK(std::ranges::any_of(chosen, is_general));
  CHECK_FALSE(chosen.contains("ref:any"));
}

TEST_CASE("arbitrary pools") {
  sweep_over(sweep::arbitrary_pool, 100);
}

}  // namespace penstock::runtime
