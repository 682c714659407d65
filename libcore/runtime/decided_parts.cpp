#include "runtime/decided_parts.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// The last size that a step needs; of a call that decides one, to ask for it.
int needed_by(const DecidedParts& parts, const KernelBundle& bundle, std::size_t number) {
  int last = -1;
  const auto see = [&](BufferId id) {
    if (id != kNoBuffer) last = std::max(last, parts.buffer_part[static_cast<std::size_t>(id)]);
  };
  const BundleStep& step = bundle.steps[number];
  if (const auto* kernel = std::get_if<KernelCall>(&step)) {
    std::ranges::for_each(kernel->buffers, see);
    for (const SymExpr* size : {&kernel->extent, &kernel->flops, &kernel->bytes})
      last = std::max(last, parts.sizes.decided_by(*size));
  } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
    std::ranges::for_each(call->inputs, see);
    std::ranges::for_each(call->outputs, see);
    for (const PostOp& op : call->post_ops) see(op.operand);
    if (parts.decides[number] < 0) last = std::max(last, parts.sizes.decided_by(call->attributes));
  } else {
    const auto& fallback = std::get<FallbackCall>(step);
    std::ranges::for_each(fallback.outputs, see);
    for (const NamedArgument& argument : fallback.arguments) {
      for_each_value(argument.value, [&](ValueId id) { see(static_cast<BufferId>(id)); });
    }
    last = std::max(last, parts.sizes.decided_by(fallback.arguments));
  }
  return last;
}

}  // namespace

std::int32_t DecidedParts::part_of_symbol(std::int32_t symbol) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].symbol == symbol) return static_cast<std::int32_t>(i);
  }
  return -1;
}

Result<DecidedParts> decided_parts(const KernelBundle& bundle) {
  DecidedParts made;
  made.sizes = DecidedSizes(bundle.steps);
  made.parts.resize(made.sizes.all().size());
  made.buffer_part.assign(bundle.buffers.size(), -1);
  made.step_part.assign(bundle.steps.size(), -1);
  made.decides.assign(bundle.steps.size(), -1);
  if (made.empty()) return made;
  for (std::size_t i = 0; i < made.parts.size(); ++i) {
    const DecidedSize& size = made.sizes.all()[i];
    made.decides[size.step] = static_cast<std::int32_t>(i);
    const auto symbol = std::ranges::find(bundle.symbols, size.symbol);
    if (symbol != bundle.symbols.end())
      made.parts[i].symbol = static_cast<std::int32_t>(symbol - bundle.symbols.begin());
  }
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i) {
    const int part = made.sizes.decided_by(bundle.buffers, static_cast<BufferId>(i));
    made.buffer_part[i] = part;
    if (part >= 0)
      made.parts[static_cast<std::size_t>(part)].buffers.push_back(static_cast<BufferId>(i));
  }
  const std::string graph = "graph " + to_string(bundle.interface.id);
  for (std::size_t i = 0; i < bundle.steps.size(); ++i) {
    const int part = needed_by(made, bundle, i);
    if (auto behind = verify_behind(made.sizes, part, i, graph); !behind)
      return tl::unexpected(std::move(behind.error()));
    made.step_part[i] = part;
    if (part >= 0)
      made.parts[static_cast<std::size_t>(part)].steps.push_back(static_cast<std::int32_t>(i));
  }
  return made;
}

}  // namespace penstock::runtime
