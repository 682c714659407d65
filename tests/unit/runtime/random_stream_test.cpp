#include "runtime/random_stream.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace penstock::runtime {

namespace {

/// An element as torch draws it: a number of 53 bits from two words.
std::uint8_t expected(std::mt19937& engine, double probability) {
  const std::uint64_t high = engine(), low = engine();
  const std::uint64_t number = ((high << 32) | low) & ((std::uint64_t{1} << 53) - 1);
  return static_cast<double>(number) * 0x1p-53 < probability;
}

/// Draws in parts of these lengths give what draws of one element after the other do.
void check_parts(double probability, const std::vector<std::size_t>& parts) {
  RandomState state(5);
  std::mt19937 engine(5);
  for (const std::size_t part : parts) {
    std::vector<std::uint8_t> drawn(part, 7), wanted;
    for (std::size_t i = 0; i < part; ++i) wanted.push_back(expected(engine, probability));
    draw_bernoulli(state, probability, drawn);
    CHECK(drawn == wanted);
  }
}

}  // namespace

TEST_CASE("draws are those of one element after the other, over the borders of blocks") {
  check_parts(0.3, {1, 2, 3, 311, 312, 313, 5000, 0, 1});
  check_parts(0.9, {312, 312, 1, 623, 624, 625});
  check_parts(0.5, std::vector<std::size_t>(700, 3));
}

TEST_CASE("a draw may begin in the middle of a pair of words") {
  RandomState state(9);
  std::mt19937 engine(9);
  std::vector<std::uint8_t> first(2);
  draw_bernoulli(state, 0.5, first);
  for (int i = 0; i < 2; ++i) expected(engine, 0.5);
  ++state.next;
  engine();
  std::vector<std::uint8_t> drawn(1000), wanted;
  for (int i = 0; i < 1000; ++i) wanted.push_back(expected(engine, 0.25));
  draw_bernoulli(state, 0.25, drawn);
  CHECK(drawn == wanted);
  // And no word more was read than these take.
  for (std::uint8_t& element : wanted) element = expected(engine, 0.25);
  draw_bernoulli(state, 0.25, drawn);
  CHECK(drawn == wanted);
}

TEST_CASE("nothing is below zero, all is below one, and the stream moves on") {
  RandomState state(1), other(1);
  std::vector<std::uint8_t> none(500), all(500);
  draw_bernoulli(state, 0, none);
  draw_bernoulli(other, 1, all);
  CHECK(none == std::vector<std::uint8_t>(500, 0));
  CHECK(all == std::vector<std::uint8_t>(500, 1));
  CHECK(state.words == other.words);
  CHECK(state.next == 1000 - 624);
}

TEST_CASE("the library call draws into its output from the source that it was given") {
  LibraryCall call;
  call.name = "bernoulli";
  call.attributes.push_back({"probability", 0.6});
  REQUIRE(is_draw(call));
  const auto source = own_random_source();
  LibraryOperands operands;
  operands.outputs.push_back({DType::bool_, {1000}, {1}});
  const auto kernel = make_draw(call, operands, *source);
  RandomState state;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::uint8_t> drawn(1000), wanted(1000);
    void* const outputs[] = {drawn.data()};
    LibraryMemory memory;
    memory.outputs = outputs;
    CHECK(kernel->run(memory));
    draw_bernoulli(state, 0.6, wanted);
    CHECK(drawn == wanted);
  }
}

}  // namespace penstock::runtime
