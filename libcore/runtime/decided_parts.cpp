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

/// Gathers what a part needs.
class NeededSymbols {
 public:
  NeededSymbols(const DecidedParts& parts, const KernelBundle& bundle)
      : parts_(parts), bundle_(bundle) {}

  void add(const SymExpr& size) {
    if (size.is_constant()) return;
    size.for_each_symbol([&](std::string_view name) {
      const std::int32_t symbol = parts_.symbol_of(name);
      if (symbol >= 0 && parts_.symbol_part[static_cast<std::size_t>(symbol)] >= 0)
        needed_.push_back(symbol);
    });
  }
  void add(const std::vector<NamedArgument>& attributes) {
    for (const NamedArgument& attribute : attributes)
      for_each_size(attribute.value, [&](const SymExpr& size) { add(size); });
  }
  void add_buffer(BufferId id) {
    if (id == kNoBuffer || parts_.buffer_part[static_cast<std::size_t>(id)] < 0) return;
    const Buffer& buffer = bundle_.buffers[static_cast<std::size_t>(id)];
    for (const SymExpr* size : {&buffer.offset, &buffer.arena_offset, &buffer.bytes}) add(*size);
    for (const SymExpr& size : buffer.sizes) add(size);
    for (const SymExpr& stride : buffer.strides) add(stride);
    if (buffer.kind == Buffer::Kind::view) add_buffer(buffer.base);
  }
  void add_step(const BundleStep& step) {
    const auto see = [&](BufferId id) { add_buffer(id); };
    if (const auto* kernel = std::get_if<KernelCall>(&step)) {
      std::ranges::for_each(kernel->buffers, see);
      for (const SymExpr* size : {&kernel->extent, &kernel->flops, &kernel->bytes}) add(*size);
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      std::ranges::for_each(call->inputs, see);
      std::ranges::for_each(call->outputs, see);
      for (const PostOp& op : call->post_ops) see(op.operand);
      add(call->attributes);
    }
  }

  std::vector<std::int32_t> take() {
    std::ranges::sort(needed_);
    needed_.erase(std::ranges::unique(needed_).begin(), needed_.end());
    return std::move(needed_);
  }

 private:
  const DecidedParts& parts_;
  const KernelBundle& bundle_;
  std::vector<std::int32_t> needed_;
};

/// Fills in what each part needs.
void note_needs(DecidedParts& parts, const KernelBundle& bundle) {
  std::vector<NeededSymbols> needed(parts.parts.size(), NeededSymbols(parts, bundle));
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const DecidedSize& size = parts.sizes.all()[i];
    needed[i].add(size.size);
    needed[i].add(size.memory);
    for (const BufferId id : parts.parts[i].buffers) needed[i].add_buffer(id);
    for (const std::int32_t step : parts.parts[i].steps)
      needed[i].add_step(bundle.steps[static_cast<std::size_t>(step)]);
  }
  for (const Guard& guard : bundle.interface.guards) {
    if (!guard.condition) continue;
    const auto tested_by = [&](std::string_view name) {
      const std::int32_t symbol = parts.symbol_of(name);
      const std::int32_t part =
          symbol < 0 ? -1 : parts.symbol_part[static_cast<std::size_t>(symbol)];
      if (part < 0) return;
      needed[static_cast<std::size_t>(part)].add(guard.condition->left);
      needed[static_cast<std::size_t>(part)].add(guard.condition->right);
    };
    guard.condition->left.for_each_symbol(tested_by);
    guard.condition->right.for_each_symbol(tested_by);
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    parts.parts[i].needs = needed[i].take();
    // What is decided behind it is no size of this one's.
    std::erase_if(parts.parts[i].needs, [&](std::int32_t symbol) {
      return parts.symbol_part[static_cast<std::size_t>(symbol)] > static_cast<std::int32_t>(i);
    });
  }
}

}  // namespace

Result<DecidedParts> decided_parts(const KernelBundle& bundle) {
  DecidedParts made;
  made.sizes = DecidedSizes(bundle.steps);
  made.parts.resize(made.sizes.all().size());
  made.buffer_part.assign(bundle.buffers.size(), -1);
  made.step_part.assign(bundle.steps.size(), -1);
  made.decides.assign(bundle.steps.size(), -1);
  made.symbol_part.assign(bundle.symbols.size(), -1);
  for (std::size_t i = 0; i < bundle.symbols.size(); ++i)
    made.symbols.emplace(bundle.symbols[i], static_cast<std::int32_t>(i));
  if (made.empty()) return made;
  for (std::size_t i = 0; i < made.parts.size(); ++i) {
    const DecidedSize& size = made.sizes.all()[i];
    made.decides[size.step] = static_cast<std::int32_t>(i);
    const std::int32_t symbol = made.symbol_of(size.symbol);
    made.parts[i].symbol = symbol;
    if (symbol >= 0)
      made.symbol_part[static_cast<std::size_t>(symbol)] = static_cast<std::int32_t>(i);
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
  note_needs(made, bundle);
  return made;
}

}  // namespace penstock::runtime
