#include "ir/interface_verify.h"

#include <fmt/format.h>

namespace penstock {

namespace {

/// Reports the first broken rule; every check returns true when all is well.
class Checker {
 public:
  explicit Checker(const Interface& interface)
      : interface_(interface), known_(symbol_names(interface.symbols)) {}

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
    if (auto checked = verify_type(type, known_, place); !checked && result_) {
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
    if (known_.size() != interface_.symbols.size()) broken("symbols", "a symbol stands there twice");
    for (const Symbol& symbol : interface_.symbols) {
      std::string place = fmt::format("symbol {}", symbol.name);
      source(symbol.source, place);
      if (symbol.minimum > symbol.maximum) broken(place, "its range is empty");
    }
  }

  void check_boundary() {
    for (const Input& input : interface_.inputs) {
      std::string place = fmt::format("input {}", input.name);
      source(input.source, place);
      type(input.type, place);
    }
    for (std::size_t i = 0; i < interface_.outputs.size(); ++i) {
      const Output& output = interface_.outputs[i];
      std::string place = fmt::format("output {}", i);
      type(output.type, place);
      if (output.alias.kind == OutputAlias::Kind::input) {
        index(output.alias.index, interface_.inputs.size(), "aliased input", place);
      } else if (output.alias.kind == OutputAlias::Kind::output) {
        index(output.alias.index, interface_.outputs.size(), "aliased output", place);
      }
    }
    for (const Mutation& mutation : interface_.mutations) {
      index(mutation.input, interface_.inputs.size(), "mutated input", "mutations");
      index(mutation.output, interface_.outputs.size(), "output", "mutations");
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
  Result<void> result_;
};

}  // namespace

std::unordered_set<std::string_view> symbol_names(const std::vector<Symbol>& symbols) {
  std::unordered_set<std::string_view> names;
  for (const Symbol& symbol : symbols) names.insert(symbol.name);
  return names;
}

Result<void> verify_type(const TensorType& type,
                         const std::unordered_set<std::string_view>& known,
                         const std::string& place) {
  if (type.sizes.size() != type.strides.size()) {
    return failure(Code::PS0205, fmt::format("{} sizes but {} strides", type.sizes.size(),
                                             type.strides.size()), place);
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
  if (unknown.empty()) return {};
  return failure(Code::PS0205, fmt::format("symbol {} is not declared", unknown), place);
}

Result<void> verify_interface(const Interface& interface) { return Checker(interface).run(); }

}  // namespace penstock
