#include "ir/decided_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/size_facts.h"

namespace penstock {

namespace {

const Argument* attribute(const LibraryCall& call, std::string_view name) {
  const auto found = std::ranges::find(call.attributes, name, &NamedArgument::name);
  return found == call.attributes.end() ? nullptr : &found->value;
}

SymExpr size_of(const Argument* argument) {
  if (argument == nullptr) return 0;
  if (const auto* number = argument->as<std::int64_t>()) return *number;
  const auto* expression = argument->as<SymExpr>();
  return expression != nullptr ? *expression : SymExpr(0);
}

}  // namespace

std::optional<DecidedSize> decided_size_of(const LibraryCall& call, std::size_t step) {
  if (call.name != "item") return std::nullopt;
  const SymExpr size = size_of(attribute(call, "size"));
  return DecidedSize{step, std::string(size.symbol_name()), size,
                     size_of(attribute(call, "memory"))};
}

void DecidedSizes::add(DecidedSize size) {
  // Two that have to be equal go by one symbol: the second is compared with the first.
  if (!size.symbol.empty() &&
      !by_symbol_.emplace(size.symbol, static_cast<int>(sizes_.size())).second)
    size.symbol.clear();
  sizes_.push_back(std::move(size));
}

int DecidedSizes::decided_by(const SymExpr& expression) const {
  int last = -1;
  if (by_symbol_.empty() || expression.is_constant()) return last;
  expression.for_each_symbol([&](std::string_view name) {
    const auto found = by_symbol_.find(std::string(name));
    if (found != by_symbol_.end()) last = std::max(last, found->second);
  });
  return last;
}

int DecidedSizes::decided_by(const std::vector<Buffer>& buffers, BufferId id) const {
  if (by_symbol_.empty() || id == kNoBuffer) return -1;
  const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
  int last = std::max(
      {decided_by(buffer.offset), decided_by(buffer.arena_offset), decided_by(buffer.bytes)});
  for (const SymExpr& size : buffer.sizes) last = std::max(last, decided_by(size));
  for (const SymExpr& stride : buffer.strides) last = std::max(last, decided_by(stride));
  const bool view = buffer.kind == Buffer::Kind::view;
  return view ? std::max(last, decided_by(buffers, buffer.base)) : last;
}

int DecidedSizes::decided_by(const std::vector<NamedArgument>& attributes) const {
  int last = -1;
  for (const NamedArgument& attribute : attributes) {
    for_each_size(attribute.value,
                  [&](const SymExpr& size) { last = std::max(last, decided_by(size)); });
  }
  return last;
}

namespace {

tl::unexpected<Diagnostic> other_size(std::string message) {
  auto other = failure(Code::PS0812, std::move(message));
  other.value().severity = Severity::note;
  return other;
}

bool names(const Condition& condition, std::string_view symbol) {
  bool found = false;
  const auto see = [&](std::string_view name) { found = found || name == symbol; };
  condition.left.for_each_symbol(see);
  condition.right.for_each_symbol(see);
  return found;
}

}  // namespace

bool waits_for_elements(const Interface& interface, const Condition& condition) {
  return std::ranges::any_of(interface.symbols, [&](const Symbol& symbol) {
    return symbol.source == kNoSource && names(condition, symbol.name);
  });
}

Result<void> check_decided(const Interface& interface, const DecidedSize& size,
                           std::int64_t element, const SizeValue& value) {
  if (size.symbol.empty()) {
    if (value(size.size) == element) return {};
    return other_size(fmt::format("elements decide a size of {}, the graph is for {}", element,
                                  size.size.to_string()));
  }
  const auto symbol = std::ranges::find(interface.symbols, size.symbol, &Symbol::name);
  if (symbol == interface.symbols.end() || element < symbol->minimum || element > symbol->maximum)
    return other_size(
        fmt::format("elements decide a size of {}, which {} is not for", element, size.symbol));
  for (const Guard& guard : interface.guards) {
    if (!guard.condition) continue;
    const Condition& condition = *guard.condition;
    if (!names(condition, size.symbol)) continue;
    const auto left = value(condition.left), right = value(condition.right);
    if (!left || !right || holds(*left, condition.relation, *right)) continue;
    return other_size(
        fmt::format("elements decide a size of {}, the graph is for sizes of which "
                    "{} holds",
                    element, to_string(condition)));
  }
  return {};
}

Result<void> verify_behind(const DecidedSizes& sizes, int decision, std::size_t step,
                           const std::string& place) {
  if (decision < 0 || sizes.all()[static_cast<std::size_t>(decision)].step < step) return {};
  return failure(Code::PS0205,
                 fmt::format("needs the size {}, which is decided behind it",
                             sizes.all()[static_cast<std::size_t>(decision)].symbol),
                 fmt::format("{} steps[{}]", place, step));
}

namespace {

/// By step, whether it is one of those that a branch or a loop leaves out or repeats.
std::vector<bool> nested_steps(const ControlSteps& steps) {
  std::vector<bool> nested(steps.size(), false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i]) continue;
    const std::size_t behind = i + 1 + static_cast<std::size_t>(steps[i]->first + steps[i]->second);
    std::fill(nested.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              nested.begin() + static_cast<std::ptrdiff_t>(std::min(behind, steps.size())), true);
  }
  return nested;
}

}  // namespace

Result<void> verify_decided_sizes(const DecidedSizes& sizes, const ControlSteps& steps,
                                  const Interface& interface, const std::string& place) {
  if (sizes.all().empty()) return {};
  const std::vector<bool> nested = nested_steps(steps);
  const auto broken = [&](const DecidedSize& size, std::string_view what) {
    return failure(Code::PS0205, fmt::format("item: {}", what),
                   fmt::format("{} steps[{}]", place, size.step));
  };
  int number = 0;
  for (const DecidedSize& size : sizes.all()) {
    if (nested[size.step]) return broken(size, "stands in a branch or a loop");
    const auto symbol = std::ranges::find(interface.symbols, size.symbol, &Symbol::name);
    if (!size.symbol.empty() && (symbol == interface.symbols.end() || symbol->source != kNoSource))
      return broken(size, fmt::format("{} is no symbol that elements decide", size.symbol));
    if (sizes.decided_by(size.size) > number)
      return broken(size, "it is compared with a size that is decided behind it");
    if (sizes.decided_by(size.memory) > number)
      return broken(size, "its memory hangs on sizes that are decided behind it");
    ++number;
  }
  return {};
}

}  // namespace penstock
