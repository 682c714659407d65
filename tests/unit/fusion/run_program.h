#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../graph_builder.h"
#include "fusion/contract.h"
#include "fusion/fuse.h"
#include "fusion/host_number.h"
#include "fusion/interpreter.h"
#include "partition/partition.h"

namespace penstock::fusion {

using SymbolValues = std::map<std::string, std::int64_t>;

inline SymbolValues hints(const Interface& interface) {
  SymbolValues values;
  for (const Symbol& symbol : interface.symbols) values[symbol.name] = symbol.hint.value_or(8);
  return values;
}

/// Fuses the builder's graph without the passes in `skip`.
inline LoopProgram fuse_graph(const GraphBuilder& builder, std::vector<std::string> skip = {}) {
  PassTrace silent;
  auto placed = partition::partition(builder.graph, {}, silent);
  REQUIRE_MESSAGE(placed, (placed ? "" : placed.error().message));
  auto program = fuse(*placed, {std::move(skip)}, silent);
  REQUIRE_MESSAGE(program, (program ? "" : program.error().place + ": " + program.error().message));
  return *program;
}

/// Every pass but those that make a program of a plan.
inline std::vector<std::string> all_rewrites() {
  std::vector<std::string> names;
  for (const PassFacts& pass : fuse_passes()) names.emplace_back(pass.name);
  return names;
}

/// Arrays for the inputs, filled with numbers that `seed` decides; integers are in [0, 4).
inline std::vector<HostArray> random_inputs(const Interface& interface, unsigned seed) {
  std::mt19937 random(seed);
  SymbolValues symbols = hints(interface);
  auto value = [&](const SymExpr& e) {
    return *e.evaluate([&](std::string_view name) { return std::optional(symbols.at(std::string(name))); });
  };
  std::vector<HostArray> arrays;
  for (const Input& input : interface.inputs) {
    HostArray array;
    array.dtype = input.type.dtype;
    std::int64_t last = 1;
    for (std::size_t i = 0; i < input.type.rank(); ++i) {
      array.sizes.push_back(value(input.type.sizes[i]));
      array.strides.push_back(value(input.type.strides[i]));
      last += (array.sizes[i] - 1) * array.strides[i];
    }
    int size = facts(array.dtype).size;
    array.memory.resize(static_cast<std::size_t>(last * size));
    std::uniform_real_distribution<double> real(-2, 2);
    for (std::int64_t e = 0; e < last; ++e) {
      HostNumber number{real(random), static_cast<std::int64_t>(random() % 4)};
      store_number(array.dtype, array.memory.data() + e * size, number);
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

inline std::vector<double> numbers(const HostArray& array) {
  std::vector<double> result;
  std::size_t size = static_cast<std::size_t>(facts(array.dtype).size);
  for (std::size_t at = 0; at + size <= array.memory.size(); at += size) {
    HostNumber number = load_number(array.dtype, array.memory.data() + at);
    result.push_back(is_floating(array.dtype) ? number.real : static_cast<double>(number.integer));
  }
  return result;
}

inline std::vector<std::vector<double>> run_numbers(const LoopProgram& program, unsigned seed = 1) {
  std::vector<HostArray> inputs = random_inputs(program.interface, seed);
  auto outputs = interpret(program, inputs, hints(program.interface));
  REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
  std::vector<std::vector<double>> result;
  for (const HostArray& array : *outputs) result.push_back(numbers(array));
  return result;
}

/// Largest difference relative to the largest magnitude; NaN and infinity must match by position.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0, scale = 1e-6;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i]) || std::isinf(a[i]) != std::isinf(b[i])) return INFINITY;
    if (!std::isfinite(a[i])) continue;
    largest = std::max(largest, std::fabs(a[i] - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return largest / scale;
}

/// The fused program must compute what the program without any rewrite computes.
inline LoopProgram check_against_unfused(const GraphBuilder& builder, unsigned seed = 1) {
  LoopProgram fused = fuse_graph(builder);
  auto expected = run_numbers(fuse_graph(builder, all_rewrites()), seed);
  auto actual = run_numbers(fused, seed);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK_MESSAGE(difference(actual[i], expected[i]) < 1e-5, to_text(fused));
  }
  return fused;
}

inline int kernel_count(const LoopProgram& program) {
  int count = 0;
  for (const ProgramStep& step : program.steps) count += std::holds_alternative<LoopKernel>(step);
  return count;
}

}  // namespace penstock::fusion
