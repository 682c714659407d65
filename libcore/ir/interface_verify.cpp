#include "ir/interface_verify.h"

#include <fmt/format.h>

#include "ir/size_facts.h"

namespace penstock {

namespace {

/// Reports the first broken rule; every check returns true when all is well.
class Checker {
 public:
  explicit Checker(const Interface& interface)
      : interface_(interface),
        known_(symbol_names(interface.symbols)),
        value_(recorded_sizes(interface.symbols)) {}

  Result<void> run() {
    check_symbols();
    check_boundary();
    check_guards();
    for (std::size_t i = 0; i < interface_.objects.size(); ++i) {
      recipe(interface_.objects[i], fmt::format("objects[{}]", i), 0);
    }
    recipe(interface_.returns, "returns", 0);
    restore(interface_.restore, "restore");
    for (std::size_t i = 0; i < interface_.frames.size(); ++i) {
      recipe(interface_.frames[i].function, fmt::format("frames[{}]", i), 0);
      restore(interface_.frames[i].restore, fmt::format("frames[{}] restore", i));
    }
    return std::move(result_);
  }

 private:
  static constexpr int kMaxDepth = 200;

  void broken(const std::string& place, std::string message) {
    if (!result_) return;
    result_ = failure(Code::PS0205, std::move(message),
                      fmt::format("graph {} {}", to_string(interface_.id), place));
  }
  void source(SourceId id, const std::string& place) {
    if (id != kNoSource && id >= interface_.sources.size()) {
      broken(place, fmt::format("source {} does not exist", id));
    }
  }
  void type(const TensorType& type, const std::string& place) {
    if (auto checked = verify_type(type, known_, value_, place); !checked && result_) {
      result_ = checked;
      result_.error().place = fmt::format("graph {} {}", to_string(interface_.id), place);
    }
  }
  void expression(const SymExpr& expression, const std::string& place) {
    expression.for_each_symbol([&](std::string_view name) {
      if (!known_.contains(name)) broken(place, fmt::format("symbol {} is not declared", name));
    });
  }
  void index(std::int64_t index, std::size_t size, std::string_view what,
             const std::string& place) {
    if (index < 0 || index >= static_cast<std::int64_t>(size)) {
      broken(place, fmt::format("{} {} does not exist, there are {}", what, index, size));
    }
  }

  void check_symbols() {
    if (known_.size() != interface_.symbols.size())
      broken("symbols", "a symbol stands there twice");
    for (const Symbol& symbol : interface_.symbols) {
      std::string place = fmt::format("symbol {}", symbol.name);
      source(symbol.source, place);
      if (symbol.minimum > symbol.maximum) broken(place, "its range is empty");
      if (symbol.hint && (*symbol.hint < symbol.minimum || *symbol.hint > symbol.maximum)) {
        broken(place, fmt::format("its hint {} is outside of its range", *symbol.hint));
      }
    }
  }

  void check_boundary() {
    for (const Input& input : interface_.inputs) {
      std::string place = fmt::format("input {}", input.name);
      source(input.source, place);
      type(input.type, place);
      const bool number = input.kind == InputKind::size || input.kind == InputKind::scalar;
      if (number && input.type.rank() != 0) broken(place, "a number has no dims");
      if (input.kind == InputKind::size && input.type.dtype != DType::int64)
        broken(place, "a size is of dtype int64");
    }
    for (std::size_t i = 0; i < interface_.outputs.size(); ++i) {
      const Output& output = interface_.outputs[i];
      std::string place = fmt::format("output {}", i);
      type(output.type, place);
      if (output.alias.kind == OutputAlias::Kind::input) {
        index(output.alias.index, interface_.inputs.size(), "aliased input", place);
      } else if (output.alias.kind == OutputAlias::Kind::output) {
        index(output.alias.index, interface_.outputs.size(), "aliased output", place);
        if (output.alias.index == static_cast<std::int32_t>(i))
          broken(place, "it is an alias of itself");
      }
    }
    pairs(interface_.mutations, "mutated input", "mutations");
    if (interface_.training.role == GraphRole::backward) {
      check_backward();
    } else {
      pairs(interface_.training.tangents, "tangent", "tangents");
      pairs(interface_.training.gradients, "input", "gradients");
      if (!interface_.training.saved.empty() || !interface_.training.passed.empty())
        broken("saved", "only a backward graph is given what a forward graph has");
    }
  }

  /// Records that name an input and an output.
  template <class Pair>
  void pairs(const std::vector<Pair>& list, std::string_view input, const std::string& place) {
    for (const Pair& pair : list) {
      index(pair.input, interface_.inputs.size(), input, place);
      index(pair.output, interface_.outputs.size(), "output", place);
    }
  }

  /// Of a backward graph: every input comes from one place. What there is of the forward graph is
  /// not known here.
  void check_backward() {
    std::vector<int> places(interface_.inputs.size(), 0);
    const auto given = [&](std::int32_t input, std::int32_t there, const std::string& place) {
      index(input, places.size(), "input", place);
      if (there < 0) broken(place, fmt::format("the forward graph has no {}", there));
      if (result_) ++places[static_cast<std::size_t>(input)];
    };
    for (const Tangent& one : interface_.training.tangents)
      given(one.input, one.output, "tangents");
    for (const Saved& one : interface_.training.saved) given(one.input, one.output, "saved");
    for (const Passed& one : interface_.training.passed) given(one.input, one.forward, "passed");
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Input& input = interface_.inputs[i];
      if (places[i] == 1 || (places[i] == 0 && input.kind == InputKind::size)) continue;
      broken(fmt::format("input {}", input.name),
             fmt::format("it comes from {} places of the forward graph", places[i]));
    }
    for (const Gradient& gradient : interface_.training.gradients) {
      index(gradient.output, interface_.outputs.size(), "output", "gradients");
      if (gradient.input < 0) broken("gradients", "the forward graph has no such input");
    }
  }

  void check_guards() {
    for (std::size_t i = 0; i < interface_.guards.size(); ++i) {
      const Guard& guard = interface_.guards[i];
      std::string place = fmt::format("guard {}", i);
      source(guard.source, place);
      source(guard.other, place);
      if (guard.tensor) type(*guard.tensor, place);
      if (guard.kind == GuardKind::condition && !guard.condition) {
        broken(place, "a guard of kind condition has no condition");
      }
      if (guard.kind == GuardKind::tensor && !guard.tensor) {
        broken(place, "a guard of kind tensor has no tensor type");
      }
      if (!guard.condition) continue;
      expression(guard.condition->left, place);
      expression(guard.condition->right, place);
      // Later stages prove by it that elements lie in their tensors.
      const auto left = value_(guard.condition->left), right = value_(guard.condition->right);
      if (left && right && !holds(*left, guard.condition->relation, *right)) {
        broken(place, fmt::format("its condition {} does not hold for the recorded sizes",
                                  to_string(*guard.condition)));
      }
    }
  }

  void restore(const std::vector<Restore>& steps, const std::string& where) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::string place = fmt::format("{}[{}]", where, i);
      recipe(steps[i].target, place, 0);
      recipe(steps[i].key, place, 0);
      recipe(steps[i].value, place, 0);
    }
  }

  void recipe(const Recipe& recipe_, const std::string& place, int depth) {
    if (depth > kMaxDepth) return broken(place, "a recipe is nested too deeply");
    switch (recipe_.kind) {
      case Recipe::Kind::output:
        index(recipe_.index, interface_.outputs.size(), "output", place);
        break;
      case Recipe::Kind::object:
        index(recipe_.index, interface_.objects.size(), "object", place);
        break;
      case Recipe::Kind::source:
        if (recipe_.source == kNoSource) broken(place, "a recipe of kind source has none");
        source(recipe_.source, place);
        break;
      case Recipe::Kind::symbol:
        expression(recipe_.expression, place);
        break;
      default:
        break;
    }
    for (const Recipe& item : recipe_.items) recipe(item, place, depth + 1);
  }

  const Interface& interface_;
  std::unordered_set<std::string_view> known_;
  SizeValue value_;
  Result<void> result_;
};

/// No product of two sizes overflows it.
using Wide = __int128;

/// What is wrong with the numbers of a type, as far as they are known; null: nothing.
const char* wrong_number(const TensorType& type, const SizeValue& value) {
  constexpr const char* kTooLong = "it is longer than any memory";
  if (type.rank() > kMaxRank) return "a tensor has at most 64 dims";
  const auto known = [&](const SymExpr& expression) {
    return expression.is_constant() ? expression.constant() : value(expression);
  };
  const auto offset = known(type.storage_offset);
  if (offset && *offset < 0) return "its storage offset is negative";
  // Elements, and those that lie between the first and the last in memory.
  Wide count = 1, reach = 1;
  bool empty = false;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = known(type.sizes[i]), stride = known(type.strides[i]);
    if (size && *size < 0) return "it has a negative size";
    if (stride && *stride < 0) return "it has a negative stride";
    if (size.value_or(0) > kMaxMemoryBytes || stride.value_or(0) > kMaxMemoryBytes) return kTooLong;
    empty |= size && *size == 0;
    if (!size || *size == 0 || count > kMaxMemoryBytes || reach > kMaxMemoryBytes) continue;
    count *= *size;
    if (stride) reach += Wide{*size - 1} * *stride;
  }
  if (empty) return nullptr;
  const Wide most = kMaxMemoryBytes / facts(type.dtype).size;
  return count > most || reach + offset.value_or(0) > most ? kTooLong : nullptr;
}

}  // namespace

std::unordered_set<std::string_view> symbol_names(const std::vector<Symbol>& symbols) {
  std::unordered_set<std::string_view> names;
  for (const Symbol& symbol : symbols) names.insert(symbol.name);
  return names;
}

Result<void> verify_type(const TensorType& type, const std::unordered_set<std::string_view>& known,
                         const SizeValue& value, const std::string& place) {
  if (type.sizes.size() != type.strides.size()) {
    return failure(Code::PS0205,
                   fmt::format("{} sizes but {} strides", type.sizes.size(), type.strides.size()),
                   place);
  }
  std::string unknown;
  auto check = [&](const SymExpr& expression) {
    if (expression.is_constant()) return;
    expression.for_each_symbol([&](std::string_view name) {
      if (!known.contains(name)) unknown = name;
    });
  };
  for (const SymExpr& size : type.sizes) check(size);
  for (const SymExpr& stride : type.strides) check(stride);
  check(type.storage_offset);
  if (unknown.empty()) {
    const char* wrong = wrong_number(type, value);
    return wrong == nullptr ? Result<void>() : failure(Code::PS0205, wrong, place);
  }
  return failure(Code::PS0205, fmt::format("symbol {} is not declared", unknown), place);
}

namespace {

std::string range_text(const Symbol& symbol) {
  if (symbol.maximum == INT64_MAX) return fmt::format("but for {} and more", symbol.minimum);
  return fmt::format("but for {} to {}", symbol.minimum, symbol.maximum);
}

}  // namespace

Result<void> check_conditions(const Interface& interface, const SizeValue& value) {
  for (const Symbol& symbol : interface.symbols) {
    const auto number = value(SymExpr::symbol(symbol.name));
    if (!number || (*number >= symbol.minimum && *number <= symbol.maximum)) continue;
    return failure(
        Code::PS0806,
        fmt::format("the graph is not for {} = {}, {}", symbol.name, *number, range_text(symbol)),
        fmt::format("graph {}", to_string(interface.id)));
  }
  for (const Guard& guard : interface.guards) {
    if (!guard.condition) continue;
    const auto left = value(guard.condition->left), right = value(guard.condition->right);
    if (!left || !right || holds(*left, guard.condition->relation, *right)) continue;
    auto wrong = failure(Code::PS0806,
                         fmt::format("the graph is for sizes with {}", to_string(*guard.condition)),
                         fmt::format("graph {}", to_string(interface.id)));
    wrong.value().location = guard.location;
    return wrong;
  }
  return {};
}

Result<void> verify_interface(const Interface& interface) {
  return Checker(interface).run();
}

}  // namespace penstock
