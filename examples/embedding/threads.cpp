// Calls an exported model from several threads at once, each with a runner and memory of its own; the weights are shared:
//   c++ -std=c++17 -pthread threads.cpp $(pkg-config --cflags --libs penstock) -o threads
//   ./threads mlp.pstk 4
#include <penstock.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

template <auto Free>
struct Freed {
  template <class Thing>
  void operator()(Thing* thing) const {
    Free(thing);
  }
};
using Model = std::unique_ptr<penstock_model, Freed<penstock_model_free>>;
using Runner = std::unique_ptr<penstock_runner, Freed<penstock_runner_free>>;

/// Ends the program with the error, if there is one.
void require(penstock_error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "threads: %s [%s]\n", penstock_error_message(error), penstock_error_code(error));
  std::exit(1);
}

/// Calls the model 100 times with rows that hold `number`, and gives the first element of the last result.
float call(penstock_model* model, float number) {
  penstock_runner* made = nullptr;
  require(penstock_runner_new(model, &made));
  const Runner runner(made);
  penstock_runner_set_threads(made, 1);
  const penstock_value& argument = *penstock_argument(model, 0);
  const penstock_value& result = *penstock_result(model, 0);
  const std::int64_t rows = 5, given_sizes[] = {rows, argument.greatest[1]}, place_sizes[] = {rows, result.greatest[1]};
  std::vector<float> given(static_cast<std::size_t>(rows * given_sizes[1]), number);
  std::vector<float> place(static_cast<std::size_t>(rows * place_sizes[1]));
  const penstock_tensor from{given.data(), PENSTOCK_FLOAT32, 2, given_sizes, nullptr};
  const penstock_tensor into{place.data(), PENSTOCK_FLOAT32, 2, place_sizes, nullptr};
  for (int i = 0; i < 100; ++i) require(penstock_run_into(made, &from, 1, &into, 1));
  return place[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: threads MODEL COUNT\n");
    return 2;
  }
  penstock_model* loaded = nullptr;
  require(penstock_load(argv[1], nullptr, &loaded));
  const Model model(loaded);
  const int count = std::atoi(argv[2]);
  std::vector<float> alone, together(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) alone.push_back(call(loaded, static_cast<float>(i)));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { together[static_cast<std::size_t>(i)] = call(loaded, static_cast<float>(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d threads: %s\n", count, alone == together ? "as one after the other" : "other results");
  return alone == together ? 0 : 1;
}
