// What every document of a level promises, checked when it is read and when it is written, so that
// a stage may rely on it: every index names something, every name is known, every buffer lies in
// its memory. What needs the facts of ops, or proofs, stands in the rooms ops, partition and
// fusion.

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "formats/document.h"
#include "fusion/contract.h"
#include "ir/control_steps.h"
#include "ir/interface_verify.h"
#include "ir/library_verify.h"
#include "ir/memory_verify.h"
#include "ops/contract.h"
#include "partition/contract.h"

namespace penstock::formats {

namespace {

class Checker {
 public:
  explicit Checker(const Interface& interface)
      : interface_(interface), known_(symbol_names(interface.symbols)) {}

  Result<void> finish() { return std::move(result_); }

  void broken(const std::string& place, std::string message) {
    if (!result_) return;
    result_ = failure(Code::PS0205, std::move(message),
                      fmt::format("graph {} {}", to_string(interface_.id), place));
  }
  void adopt(Result<void> other) {
    if (result_ && !other) result_ = std::move(other);
  }
  void index(std::int64_t index, std::size_t size, std::string_view what,
             const std::string& place) {
    if (index < 0 || index >= static_cast<std::int64_t>(size)) {
      broken(place, fmt::format("{} {} does not exist, there are {}", what, index, size));
    }
  }
  /// Only declared symbols and, inside kernels, what `local` knows.
  void expression(const SymExpr& expression, const std::string& place,
                  const std::unordered_set<std::string>* local = nullptr) {
    if (expression.is_constant()) return;
    expression.for_each_symbol([&](std::string_view name) {
      if (known_.contains(name) || (local && local->contains(std::string(name)))) return;
      broken(place, fmt::format("'{}' is not declared", name));
    });
  }

 protected:
  const Interface& interface_;
  std::unordered_set<std::string_view> known_;
  Result<void> result_;
};

/// What LoopProgram and KernelBundle share: buffers, outputs, library and fallback calls.
class ProgramChecker : public Checker {
 public:
  ProgramChecker(const Interface& interface, const std::vector<Buffer>& buffers, std::size_t calls)
      : Checker(interface), buffers_(buffers), calls_(calls) {
    adopt(verify_interface(interface));
    for (std::size_t i = 0; i < buffers.size(); ++i) check_buffer(i);
  }

  void outputs(const std::vector<BufferId>& outputs) {
    if (outputs.size() != interface_.outputs.size()) {
      broken("outputs", fmt::format("{} outputs are described, {} are given",
                                    interface_.outputs.size(), outputs.size()));
    }
    for (BufferId id : outputs) buffer(id, "outputs");
  }

  void step(const LibraryCall& call, const std::string& place) {
    for (BufferId id : call.inputs) {
      if (id != kNoBuffer) buffer(id, place);
    }
    for (BufferId id : call.outputs) buffer(id, place);
    for (const PostOp& post_op : call.post_ops) {
      if (post_op.operand != kNoBuffer) buffer(post_op.operand, place);
    }
    for (std::int32_t position : call.prepack) {
      index(position, call.inputs.size(), "prepacked input", place);
    }
    calls(call.calls, place);
    arguments(call.attributes, place);
  }

  void step(const FallbackCall& call, const std::string& place) {
    for (BufferId id : call.outputs) buffer(id, place);
    for (const NamedArgument& argument : call.arguments) {
      for_each_value(argument.value,
                     [&](ValueId id) { index(id, buffers_.size(), "buffer", place); });
    }
    calls(call.calls, place);
    arguments(call.arguments, place);
  }

  void step(const KernelCall& call, const std::string& place) {
    if (call.function.empty()) broken(place, "a kernel call names no function");
    for (BufferId id : call.buffers) buffer(id, place);
    if (call.grain < 1) broken(place, "the grain is below 1");
    if (call.scratch_bytes < 0) broken(place, "the scratch memory has a negative size");
    expression(call.extent, place);
    expression(call.flops, place);
    expression(call.bytes, place);
    calls(call.calls, place);
  }

  void step(const LoopKernel& kernel, const std::string& place);

  void buffer(BufferId id, const std::string& place) {
    index(id, buffers_.size(), "buffer", place);
  }

 private:
  /// Names in scope: integer scalars "v12" of enclosing bodies, loop variables "i0".
  struct Scope {
    std::unordered_set<ScalarId> scalars;
    std::unordered_set<std::string> names;
  };

  void check_buffer(std::size_t position) {
    const Buffer& one = buffers_[position];
    std::string place = fmt::format("buffers[{}]", position);
    if (one.sizes.size() != one.strides.size()) {
      broken(place, fmt::format("{} sizes but {} strides", one.sizes.size(), one.strides.size()));
    }
    for (const SymExpr& size : one.sizes) expression(size, place);
    for (const SymExpr& stride : one.strides) expression(stride, place);
    for (const SymExpr* each : {&one.offset, &one.arena_offset, &one.bytes})
      expression(*each, place);
    if (one.kind == Buffer::Kind::input) {
      index(one.index, interface_.inputs.size(), "input", place);
    } else if (one.kind == Buffer::Kind::output) {
      index(one.index, interface_.outputs.size(), "output", place);
    } else if (one.kind == Buffer::Kind::view) {
      buffer(one.base, place);
      if (one.base >= 0 && one.base < static_cast<BufferId>(buffers_.size()) &&
          buffers_[static_cast<std::size_t>(one.base)].kind == Buffer::Kind::view) {
        broken(place, "the base of a view is a view itself");
      }
    }
  }

  void calls(const std::vector<std::int32_t>& positions, const std::string& place) {
    for (std::int32_t position : positions) index(position, calls_, "call", place);
  }
  void arguments(const std::vector<NamedArgument>& arguments, const std::string& place) {
    for (const NamedArgument& argument : arguments) {
      if (auto* size = argument.value.as<SymExpr>()) expression(*size, place);
    }
  }
  void body(const std::vector<Statement>& statements, Scope scope,
            std::unordered_set<std::string>& loops, const std::string& place, Scope* after);
  void define(Scope& scope, ScalarId id, const std::string& place) {
    if (id < 0 || !scope.scalars.insert(id).second) {
      broken(place, fmt::format("scalar {} is made twice", id));
    }
    scope.names.insert(fmt::format("v{}", id));
  }

  const std::vector<Buffer>& buffers_;
  std::size_t calls_;
};

void ProgramChecker::body(const std::vector<Statement>& statements, Scope scope,
                          std::unordered_set<std::string>& loops, const std::string& place,
                          Scope* after) {
  for (const Statement& statement : statements) {
    if (auto* one = std::get_if<Instruction>(&statement)) {
      for (ScalarId id : one->operands) {
        if (!scope.scalars.contains(id)) {
          broken(place, fmt::format("{} uses scalar {} before it is made", one->op, id));
        }
      }
      if (one->buffer != kNoBuffer) buffer(one->buffer, place);
      if ((one->op == "load" || one->op == "store") && one->buffer == kNoBuffer) {
        broken(place, fmt::format("{} names no buffer", one->op));
      }
      expression(one->index, place, &scope.names);
      if (one->op != "store") define(scope, one->result, place);
      continue;
    }
    const auto& inner = std::get<std::vector<Loop>>(statement);
    if (inner.size() != 1) return broken(place, "a statement must be one instruction or one loop");
    const Loop& loop = inner.front();
    if (!loops.insert(loop.variable).second || known_.contains(loop.variable)) {
      broken(place, fmt::format("two loops or symbols are called '{}'", loop.variable));
    }
    expression(loop.extent, place, &scope.names);
    Scope nested = scope, end;
    nested.names.insert(loop.variable);
    body(loop.body, std::move(nested), loops, place, &end);
    for (const Accumulator& accumulator : loop.accumulators) {
      if (!end.scalars.contains(accumulator.value)) {
        broken(place, fmt::format("{} combines scalar {}, which its loop does not make",
                                  accumulator.op, accumulator.value));
      }
      for (ScalarId id : accumulator.results) define(scope, id, place);
    }
  }
  if (after) *after = std::move(scope);
}

void ProgramChecker::step(const LoopKernel& kernel, const std::string& place) {
  std::unordered_set<std::string> loops;
  body(kernel.body, {}, loops, fmt::format("{} ({})", place, kernel.name), nullptr);
  calls(kernel.calls, place);
}

Result<void> verify_program(const LoopProgram& program) {
  ProgramChecker check(program.interface, program.buffers, program.calls.size());
  check.outputs(program.outputs);
  check.expression(program.arena_bytes, "arena_bytes");
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    std::visit([&](const auto& one) { check.step(one, fmt::format("steps[{}]", i)); },
               program.steps[i]);
  }
  if (auto checked = check.finish(); !checked) return checked;
  return verify_contract(program);
}

Result<void> verify_bundle(const KernelBundle& bundle) {
  ProgramChecker check(bundle.interface, bundle.buffers, bundle.calls.size());
  check.outputs(bundle.outputs);
  check.expression(bundle.arena_bytes, "arena_bytes");
  auto declared = symbol_names(bundle.interface.symbols);
  for (const std::string& symbol : bundle.symbols) {
    if (!declared.contains(symbol)) {
      check.broken("symbol_order", fmt::format("symbol {} is not declared", symbol));
    }
  }
  bool has_kernel = false;
  for (std::size_t i = 0; i < bundle.steps.size(); ++i) {
    has_kernel |= std::holds_alternative<KernelCall>(bundle.steps[i]);
    std::visit([&](const auto& one) { check.step(one, fmt::format("steps[{}]", i)); },
               bundle.steps[i]);
  }
  if (has_kernel && bundle.code.empty()) {
    check.broken("code", "kernels are called, but there is no code");
  }
  if (auto checked = check.finish(); !checked) return checked;
  const std::string graph = fmt::format("graph {}", to_string(bundle.interface.id));
  const ControlSteps control = control_steps_of(bundle.steps);
  const DecidedSizes decided(bundle.steps);
  if (auto branches = verify_control_steps(control, graph); !branches) return branches;
  if (auto sound = verify_decided_sizes(decided, control, bundle.interface, graph); !sound)
    return sound;
  const SizeValue sizes = recorded_sizes(bundle.interface.symbols);
  for (std::size_t i = 0; i < bundle.steps.size(); ++i) {
    const auto* call = std::get_if<LibraryCall>(&bundle.steps[i]);
    if (call == nullptr) continue;
    const std::string place = fmt::format("{} steps[{}]", graph, i);
    if (auto fits = verify_library_call(*call, bundle.buffers, sizes, place); !fits) return fits;
  }
  return verify_memory(bundle.interface, bundle.buffers, {bundle.arena_bytes, &decided}, sizes,
                       false);
}

Result<void> verify_nodes(const PlacedGraph& placed) {
  for (const PlacedGraph& subgraph : placed.subgraphs) {
    if (auto checked = verify_nodes(subgraph); !checked) return checked;
  }
  return ops::verify_contract(placed.graph, Level::placed);
}

struct Verifier {
  Result<void> operator()(const Graph& graph) const {
    return ops::verify_contract(graph, graph.level);
  }
  Result<void> operator()(const PlacedGraph& placed) const {
    if (auto checked = verify_nodes(placed); !checked) return checked;
    return verify_contract(placed);
  }
  Result<void> operator()(const LoopProgram& program) const { return verify_program(program); }
  Result<void> operator()(const KernelBundle& bundle) const { return verify_bundle(bundle); }
};

/// What torch has seen to when a graph was captured, and an edit may have undone.
struct ArgumentVerifier {
  Result<void> operator()(const Graph& graph) const {
    return ops::verify_arguments(graph, [](std::size_t) { return false; });
  }
  /// What our kernels or the library compute has operands that fit each other; torch looks itself.
  Result<void> operator()(const PlacedGraph& placed) const {
    for (const PlacedGraph& subgraph : placed.subgraphs) {
      if (auto fits = (*this)(subgraph); !fits) return fits;
    }
    std::vector<bool> ours(placed.graph.nodes.size(), false);
    for (const Region& region : placed.regions) {
      const bool torch = region.placement == Placement::fallback;
      std::fill(ours.begin() + region.first, ours.begin() + region.last, !torch);
    }
    return ops::verify_arguments(placed.graph, [&](std::size_t node) { return ours[node]; });
  }
  Result<void> operator()(const LoopProgram&) const { return {}; }
  Result<void> operator()(const KernelBundle&) const { return {}; }
};

}  // namespace

Result<void> verify(const GraphDocument& document) {
  return std::visit(Verifier{}, document.graph);
}

Result<void> verify_foreign(const GraphDocument& document) {
  if (auto checked = verify(document); !checked) return checked;
  return std::visit(ArgumentVerifier{}, document.graph);
}

}  // namespace penstock::formats
