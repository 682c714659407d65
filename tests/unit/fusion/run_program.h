#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "../graph_builder.h"
#include "../verifying_trace.h"
#include "fusion/contract.h"
#include "fusion/fuse.h"
#include "fusion/interpreter.h"
#include "ops/interpreter.h"
#include "partition/partition.h"

namespace penstock::fusion {

/// The value of an expression with every symbol at its hint.
inline std::int64_t at_hints(const Interface& interface, const SymExpr& expression) {
  auto value = expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    for (const Symbol& symbol : interface.symbols) {
      if (symbol.name == name) return symbol.hint;
    }
    return std::nullopt;
  });
  return value.value_or(0);
}

/// Fuses the builder's graph without the passes in `skip`.
inline LoopProgram fuse_graph(const GraphBuilder& builder, std::vector<std::string> skip = {}) {
  VerifyingTrace trace;
  auto placed = partition::partition(builder.graph, {}, trace);
  REQUIRE_MESSAGE(placed, (placed ? "" : placed.error().message));
  auto program = fuse(*placed, {std::move(skip)}, trace);
  REQUIRE_MESSAGE(
      program,
      (program ? "" : program.error().place + ": " + program.error().message.substr(0, 2000)));
  return *program;
}

/// Every pass but those that make a program of a plan.
inline std::vector<std::string> all_rewrites() {
  std::vector<std::string> names;
  for (const PassFacts& pass : fuse_passes()) names.emplace_back(pass.name);
  return names;
}

/// Tensors for the inputs, filled with numbers that `seed` decides; integers are in [0, 4).
inline std::vector<ops::HostTensor> random_inputs(const Interface& interface, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<ops::HostTensor> tensors;
  for (const Input& input : interface.inputs) {
    TensorType type = input.type;
    for (SymExpr& size : type.sizes) size = at_hints(interface, size);
    for (SymExpr& stride : type.strides) stride = at_hints(interface, stride);
    ops::HostTensor tensor = ops::HostTensor::allocate(type);
    for (std::int64_t place : tensor.places()) {
      if (is_floating(type.dtype)) {
        tensor.set_real(place, real(random));
      } else {
        tensor.set_integer(place, static_cast<std::int64_t>(random() % 4));
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

inline std::vector<std::vector<double>> numbers(const std::vector<ops::HostTensor>& tensors) {
  std::vector<std::vector<double>> result;
  for (const ops::HostTensor& tensor : tensors) {
    if (is_floating(tensor.dtype)) {
      result.push_back(tensor.reals());
    } else {
      std::vector<std::int64_t> integers = tensor.integers();
      result.emplace_back(integers.begin(), integers.end());
    }
  }
  return result;
}

inline std::vector<std::vector<double>> run_numbers(const LoopProgram& program, unsigned seed = 1) {
  auto outputs = interpret(program, random_inputs(program.interface, seed));
  REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
  return numbers(*outputs);
}

/// What the reference interpreter of room ops says that the graph computes.
inline std::vector<std::vector<double>> reference_numbers(const Graph& graph, unsigned seed = 1) {
  auto outputs = ops::interpret(graph, random_inputs(graph.interface, seed));
  REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
  return numbers(*outputs);
}

/// Largest difference relative to the largest magnitude; NaN and infinities must match by position
/// and sign.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0, scale = 1e-6;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (a[i] != b[i]) return INFINITY;
      continue;
    }
    largest = std::max(largest, std::fabs(a[i] - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return largest / scale;
}

/// The program must compute what the graph's reference says.
inline void check_program(const GraphBuilder& builder, const LoopProgram& program, unsigned seed) {
  auto expected = reference_numbers(builder.graph, seed);
  auto actual = run_numbers(program, seed);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK_MESSAGE(difference(actual[i], expected[i]) < 1e-5, to_text(program));
  }
}

/// Checks the fused program and the one without any rewrite; returns the fused one.
inline LoopProgram check(const GraphBuilder& builder, unsigned seed = 1) {
  check_program(builder, fuse_graph(builder, all_rewrites()), seed);
  LoopProgram fused = fuse_graph(builder);
  check_program(builder, fused, seed);
  return fused;
}

inline int kernel_count(const LoopProgram& program) {
  int count = 0;
  for (const ProgramStep& step : program.steps) count += std::holds_alternative<LoopKernel>(step);
  return count;
}

}  // namespace penstock::fusion
