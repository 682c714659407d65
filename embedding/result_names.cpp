#include "embedding/result_names.h"

#include <fmt/format.h>

#include <unordered_set>

namespace penstock::embedding {

namespace {

/// Follows a tree of what is returned and names the outputs in it.
class Namer {
 public:
  explicit Namer(const Interface& interface)
      : interface_(interface), names_(interface.outputs.size()) {}

  std::vector<std::string> run() {
    visit(interface_.returns, "", 0);
    for (const Mutation& mutation : interface_.mutations)
      name(mutation.output, interface_.inputs[static_cast<std::size_t>(mutation.input)].name);
    for (std::size_t i = 0; i < names_.size(); ++i)
      name(static_cast<std::int32_t>(i), fmt::format("{}", i));
    return std::move(names_);
  }

 private:
  static constexpr int kDeepest = 64;  ///< objects may hold each other

  void name(std::int32_t output, const std::string& wanted) {
    const auto index = static_cast<std::size_t>(output);
    if (index >= names_.size() || !names_[index].empty()) return;
    std::string free = wanted;
    for (int number = 1; !taken_.insert(free).second; ++number)
      free = fmt::format("{}_{}", wanted, number);
    names_[index] = std::move(free);
  }

  static std::string behind(const std::string& path, const std::string& step) {
    return path.empty() ? step : path + "." + step;
  }

  static std::string key_text(const Recipe& key, std::size_t position) {
    if (key.kind == Recipe::Kind::literal) {
      if (const auto* text = key.literal.as<std::string>()) return *text;
      if (const auto* number = key.literal.as<std::int64_t>()) return fmt::format("{}", *number);
    }
    return fmt::format("{}", position);
  }

  void visit_pairs(const Recipe& recipe, std::size_t first, const std::string& path, int depth) {
    for (std::size_t i = first; i + 1 < recipe.items.size(); i += 2) {
      const std::string step = key_text(recipe.items[i], (i - first) / 2);
      visit(recipe.items[i + 1], behind(path, step), depth + 1);
    }
  }

  /// Its class, of a dict's also a dict of what is in it, then attributes.
  void visit_instance(const Recipe& recipe, const std::string& path, int depth) {
    const bool of_dict = recipe.items.size() > 1 && recipe.items[1].kind != Recipe::Kind::literal;
    if (of_dict) visit(recipe.items[1], path, depth + 1);
    visit_pairs(recipe, of_dict ? 2 : 1, path, depth);
  }

  /// A callable and its arguments: a named tuple is tuple.__new__ of its class and a tuple, whose
  /// positions are the names.
  void visit_call(const Recipe& recipe, const std::string& path, int depth) {
    for (std::size_t i = 1; i < recipe.items.size(); ++i) visit(recipe.items[i], path, depth + 1);
  }

  void visit(const Recipe& recipe, const std::string& path, int depth) {
    if (depth > kDeepest) return;
    switch (recipe.kind) {
      case Recipe::Kind::output:
        return name(recipe.index, path.empty() ? "result" : path);
      case Recipe::Kind::object:
        if (static_cast<std::size_t>(recipe.index) < interface_.objects.size())
          visit(interface_.objects[static_cast<std::size_t>(recipe.index)], path, depth + 1);
        return;
      case Recipe::Kind::dict:
        return visit_pairs(recipe, 0, path, depth);
      case Recipe::Kind::instance:
        return visit_instance(recipe, path, depth);
      case Recipe::Kind::call:
        return visit_call(recipe, path, depth);
      case Recipe::Kind::list:
      case Recipe::Kind::tuple:
        for (std::size_t i = 0; i < recipe.items.size(); ++i)
          visit(recipe.items[i], behind(path, fmt::format("{}", i)), depth + 1);
        return;
      default:
        return;
    }
  }

  const Interface& interface_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::vector<std::string> result_names(const Interface& interface) {
  return Namer(interface).run();
}

}  // namespace penstock::embedding
