#include "ir/export_contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace penstock {

namespace {

std::string size_text(const DeclaredSize& size) {
  return fmt::format("{}:{}={}", size.input, size.dim, size.symbol);
}

Diagnostic no_such(const Interface& interface, const DeclaredSize& size) {
  std::vector<std::string_view> names;
  for (const Input& input : interface.inputs) {
    if (is_argument(interface, input)) names.push_back(input.name);
  }
  return {Code::PS0806,
          fmt::format("{}: the call has no tensor {}", size_text(size), size.input),
          interface.location,
          {},
          fmt::format("It has {}.", fmt::join(names, ", ")),
          Severity::error};
}

/// Which line made a number of the size, where one did.
const Guard* fixing_guard(const Interface& interface, const std::string& source) {
  const auto fixes = [&](const Guard& guard) {
    return guard.kind == GuardKind::equals && guard.source != kNoSource &&
           interface.sources.text(guard.source) == source;
  };
  const auto found = std::ranges::find_if(interface.guards, fixes);
  return found == interface.guards.end() ? nullptr : &*found;
}

Diagnostic fixed(const Interface& interface, const Input& input, const DeclaredSize& size) {
  const std::int64_t number = input.type.sizes[size.dim].constant().value_or(-1);
  Diagnostic out{Code::PS0806, {}, interface.location, {}, {}, Severity::error};
  const auto symbol = std::ranges::find(interface.symbols, size.symbol, &Symbol::name);
  const Guard* guard = fixing_guard(
      interface, fmt::format("{}.size({})", interface.sources.text(input.source), size.dim));
  if (guard == nullptr && symbol != interface.symbols.end()) {
    guard = fixing_guard(interface, interface.sources.text(symbol->source));
  }
  if (number < 2) {
    out.message = fmt::format("{}: the size is {} in the first call", size_text(size), number);
    out.hint = "Call the function with 2 or more: torch treats 0 and 1 apart.";
  } else if (number < size.minimum || number > size.maximum) {
    out.message = fmt::format("{}: the size is {} in the first call, and {} to {} are declared",
                              size_text(size), number, size.minimum, size.maximum);
    out.hint = "Declare a range that the call is in.";
  } else if (guard != nullptr) {
    out.message = fmt::format("{}: the size has to be {} here", size_text(size), number);
    out.location = guard->location;
  } else if (symbol != interface.symbols.end()) {
    out.message = fmt::format("{}: the size is {} in the first call, and {} is {}", size_text(size),
                              number, size.symbol, symbol->hint.value_or(-1));
    out.hint = "Sizes of one name are equal: give this one a name of its own.";
  } else {
    out.message = fmt::format("{}: the size is {} in all calls", size_text(size), number);
  }
  return out;
}

void check_size(const Interface& interface, const DeclaredSize& size,
                std::vector<Diagnostic>& broken) {
  const auto input = std::ranges::find(interface.inputs, size.input, &Input::name);
  if (input == interface.inputs.end() || !is_argument(interface, *input)) {
    return broken.push_back(no_such(interface, size));
  }
  if (size.dim >= static_cast<std::int64_t>(input->type.rank())) {
    return broken.push_back(
        {Code::PS0806,
         fmt::format("{}: {} is {}", size_text(size), size.input, to_string(input->type)),
         interface.location,
         {},
         "Dims are counted from 0.",
         Severity::error});
  }
  if (input->type.sizes[size.dim] != SymExpr::symbol(size.symbol))
    broken.push_back(fixed(interface, *input, size));
}

bool names_declared(const Condition& condition, const std::vector<DeclaredSize>& declared) {
  bool named = false;
  const auto see = [&](std::string_view name) {
    named = named || std::ranges::find(declared, name, &DeclaredSize::symbol) != declared.end();
  };
  condition.left.for_each_symbol(see);
  condition.right.for_each_symbol(see);
  return named;
}

}  // namespace

bool is_argument(const Interface& interface, const Input& input) {
  if (input.kind != InputKind::user || input.source == kNoSource) return false;
  SourceId root = input.source;
  while (interface.sources[root].base != kNoSource) root = interface.sources[root].base;
  const SourceStep& step = interface.sources[root];
  return step.kind == SourceKind::local && step.name != "self";
}

std::vector<Diagnostic> broken_declarations(const Interface& interface,
                                            const std::vector<DeclaredSize>& declared) {
  std::vector<Diagnostic> broken;
  for (const DeclaredSize& size : declared) check_size(interface, size, broken);
  for (const Guard& guard : interface.guards) {
    if (!guard.condition || guard.condition->relation != Condition::Relation::equal) continue;
    if (!names_declared(*guard.condition, declared)) continue;
    broken.push_back({Code::PS0806,
                      fmt::format("the program relies on {} here", to_string(*guard.condition)),
                      guard.location,
                      {},
                      {},
                      Severity::error});
  }
  return broken;
}

void leave_program(Interface& interface) {
  std::erase_if(interface.guards, [](const Guard& guard) { return !guard.condition; });
  interface.restore.clear();
  for (Input& input : interface.inputs) {
    if (is_argument(interface, input)) input.blob.clear();
  }
  for (Output& output : interface.outputs) output.blob.clear();
}

}  // namespace penstock
