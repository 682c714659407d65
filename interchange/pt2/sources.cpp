#include "interchange/pt2/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/export_contract.h"

namespace penstock::pt2 {

namespace {

constexpr std::string_view kKeywords = "kwargs";

/// A container's type in a tree, and in Python.
struct ContainerRow {
  std::string_view type, python;
  bool keyed;
};
constexpr ContainerRow kContainers[] = {
    {"builtins.tuple", "tuple", false},
    {"builtins.list", "list", false},
    {"builtins.dict", "dict", true},
    {"collections.OrderedDict", "collections.OrderedDict", true},
};

const ContainerRow* find_container(std::string_view name, std::string_view ContainerRow::*column) {
  for (const ContainerRow& row : kContainers) {
    if (row.*column == name) return &row;
  }
  return nullptr;
}

SourceId local(SourceTable& sources, std::string_view name, std::int64_t slot) {
  return sources.intern({SourceKind::local, kNoSource, std::string(name), slot, {}});
}

SourceId member(SourceTable& sources, SourceId base, Argument key) {
  return sources.intern({SourceKind::dict_item, base, {}, 0, std::move(key)});
}

/// The attribute `name` in a module's __dict__.
SourceId part(SourceTable& sources, SourceId module, std::string_view name) {
  return sources.intern({SourceKind::instance, module, std::string(name), 0, {}});
}

/// The module of a tensor, and the tensor's own name.
std::pair<SourceId, std::string> module_of(SourceTable& sources, std::string_view name) {
  SourceId module = local(sources, "self", 0);
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    module = member(sources, part(sources, module, "_modules"), std::string(name.substr(0, dot)));
    name.remove_prefix(dot + 1);
  }
  return {module, std::string(name)};
}

Guard guard(GuardKind kind, SourceId source, Argument expected) {
  return {kind, source, kNoSource, std::move(expected), {}, {}, {}, -1};
}

Argument list_of(std::vector<Argument> items) {
  return Argument::Sequence{Argument::Sequence::Kind::list, std::move(items)};
}

/// Gives every leaf of a tree its source, and writes down what the containers are.
class Places {
 public:
  explicit Places(Interface& interface) : interface_(interface) {}

  std::vector<SourceId> run(const Tree& in, const std::vector<std::string>& names) {
    const Tree& positional = in.children[0];
    for (std::size_t i = 0; i < positional.children.size(); ++i) {
      const std::string name = i < names.size() ? names[i] : fmt::format("arg_{}", i);
      visit(positional.children[i],
            local(interface_.sources, name, static_cast<std::int64_t>(i) + 1));
    }
    if (!in.children[1].children.empty()) keywords(in.children[1]);
    return std::move(leaves_);
  }

 private:
  void keywords(const Tree& tree) {
    const SourceId source = local(interface_.sources, kKeywords, 0);
    const auto keys = keys_of(tree).value_or(std::vector<Argument>(tree.children.size()));
    interface_.guards.push_back(guard(GuardKind::dict_keys, source, list_of(keys)));
    for (std::size_t i = 0; i < tree.children.size(); ++i)
      visit(tree.children[i], member(interface_.sources, source, keys[i]));
  }

  void visit(const Tree& tree, SourceId source) {
    if (tree.is_leaf()) return leaves_.push_back(source);
    const ContainerRow* row = find_container(tree.type, &ContainerRow::type);
    if (row == nullptr) return;
    interface_.guards.push_back(guard(GuardKind::type_is, source, std::string(row->python)));
    if (!row->keyed) {
      const auto count = static_cast<std::int64_t>(tree.children.size());
      interface_.guards.push_back(guard(GuardKind::length, source, count));
      for (std::int64_t i = 0; i < count; ++i)
        visit(tree.children[static_cast<std::size_t>(i)],
              interface_.sources.intern({SourceKind::item, source, {}, i, {}}));
      return;
    }
    const auto keys = keys_of(tree).value_or(std::vector<Argument>(tree.children.size()));
    interface_.guards.push_back(guard(GuardKind::dict_keys, source, list_of(keys)));
    for (std::size_t i = 0; i < tree.children.size(); ++i)
      visit(tree.children[i], member(interface_.sources, source, keys[i]));
  }

  Interface& interface_;
  std::vector<SourceId> leaves_;
};

/// Builds the tree from guards: a source whose type one names is a container.
class TreeBuilder {
 public:
  explicit TreeBuilder(const Interface& interface)
      : interface_(interface), sources_(interface.sources) {
    for (const Guard& guard : interface.guards) {
      if (guard.source == kNoSource) continue;
      if (guard.kind == GuardKind::type_is) types_.emplace(guard.source, &guard);
      if (guard.kind == GuardKind::length) contents_.emplace(guard.source, &guard);
      if (guard.kind == GuardKind::dict_keys) contents_[guard.source] = &guard;
      if (guard.kind == GuardKind::is_none || guard.kind == GuardKind::equals)
        constants_.push_back(guard.source);
    }
  }

  /// Nothing where an argument is reached otherwise than through containers that are known.
  std::optional<ArgumentTree> run() {
    std::map<std::pair<std::int64_t, std::string>, SourceId> roots;
    SourceId keywords = kNoSource;
    for (SourceId id = 0; id < sources_.size(); ++id) {
      const SourceStep& step = sources_[id];
      if (step.kind != SourceKind::local || step.name == "self" || !is_used(id)) continue;
      if (collects(id, GuardKind::dict_keys)) {
        keywords = id;
      } else {
        roots.emplace(std::pair(step.index, step.name), id);
      }
    }
    ArgumentTree out;
    out.in = {
        "builtins.tuple", "null", {{"builtins.tuple", "null", {}}, {"builtins.dict", "[]", {}}}};
    Tree& positional = out.in.children[0];
    for (const auto& [place, id] : roots) {
      if (collects(id, GuardKind::length)) {
        fill_items(positional, id, 0);
      } else {
        positional.children.push_back(tree(id, 0));
      }
      while (out.names.size() < positional.children.size())
        out.names.push_back(positional_name(id, place.second, out.names.size()));
    }
    if (keywords != kNoSource) {
      fill_keyed(out.in.children[1], keywords, 0);
      for (const Argument& key : keys_of(out.in.children[1]).value_or(std::vector<Argument>())) {
        if (const auto* text = key.as<std::string>()) out.names.push_back(*text);
      }
    }
    if (!good_ || !complete()) return std::nullopt;
    out.leaves = std::move(leaves_);
    return out;
  }

 private:
  static constexpr int kDeepest = 64;

  /// Whether an input or a container is reached from the source.
  bool is_used(SourceId root) const {
    const auto below = [&](SourceId id) {
      while (id != kNoSource && id != root) id = sources_[id].base;
      return id == root;
    };
    return std::ranges::any_of(interface_.inputs,
                               [&](const Input& input) {
                                 return is_passed(interface_, input) && below(input.source);
                               }) ||
           contents_.contains(root) || std::ranges::find(constants_, root) != constants_.end();
  }

  /// Whether the local is a function's *args (`contents`: length) or **kwargs (dict_keys). What
  /// these are needs no guard, what is in them does.
  bool collects(SourceId local, GuardKind contents) const {
    const auto found = contents_.find(local);
    return found != contents_.end() && found->second->kind == contents && !types_.contains(local);
  }

  /// What the positional argument `place` is called: by its local, or in *args by the input.
  std::string positional_name(SourceId root, const std::string& own, std::size_t place) const {
    if (!collects(root, GuardKind::length)) return own;
    const auto source = step(root, SourceKind::item, static_cast<std::int64_t>(place), {});
    for (const Input& input : interface_.inputs) {
      if (source && input.source == *source && !input.name.empty()) return input.name;
    }
    return fmt::format("{}_{}", own, place);
  }

  /// Every input that is passed is a leaf, once.
  bool complete() const {
    return std::ranges::all_of(interface_.inputs, [&](const Input& input) {
      return !is_passed(interface_, input) || std::ranges::count(leaves_, input.source) == 1;
    });
  }

  /// The source of a step from `base`, if there is one; the table is not added to.
  std::optional<SourceId> step(SourceId base, SourceKind kind, std::int64_t index,
                               const Argument& key) const {
    for (SourceId id = base + 1; id < sources_.size(); ++id) {
      const SourceStep& step = sources_[id];
      if (step.base == base && step.kind == kind && step.index == index && step.key == key)
        return id;
    }
    return std::nullopt;
  }

  Tree tree(SourceId source, int depth) {
    const auto type = types_.find(source);
    if (type == types_.end() || depth > kDeepest) {
      leaves_.push_back(source);
      return {};
    }
    const auto* name = type->second->expected.as<std::string>();
    const ContainerRow* row =
        name == nullptr ? nullptr : find_container(*name, &ContainerRow::python);
    if (row == nullptr || !contents_.contains(source)) {
      good_ = false;
      return {};
    }
    Tree out{std::string(row->type), "null", {}};
    if (row->keyed) {
      fill_keyed(out, source, depth);
      return out;
    }
    fill_items(out, source, depth);
    return out;
  }

  void fill_items(Tree& out, SourceId source, int depth) {
    const auto* count = contents_[source]->expected.as<std::int64_t>();
    for (std::int64_t i = 0; count != nullptr && i < *count && good_; ++i)
      child(out, step(source, SourceKind::item, i, {}), depth);
  }

  void fill_keyed(Tree& out, SourceId source, int depth) {
    const auto* keys = contents_[source]->expected.as<Argument::Sequence>();
    if (keys == nullptr) {
      good_ = false;
      return;
    }
    out.context = context_of(keys->items);
    for (const Argument& key : keys->items)
      child(out, step(source, SourceKind::dict_item, 0, key), depth);
  }

  void child(Tree& out, std::optional<SourceId> source, int depth) {
    if (!source) {
      good_ = false;
      return;
    }
    out.children.push_back(tree(*source, depth + 1));
  }

  const Interface& interface_;
  const SourceTable& sources_;
  std::map<SourceId, const Guard*> types_, contents_;
  std::vector<SourceId> constants_;
  std::vector<SourceId> leaves_;
  bool good_ = true;
};

}  // namespace

bool is_passed(const Interface& interface, const Input& input) {
  return input.kind == InputKind::size || input.kind == InputKind::scalar ||
         is_argument(interface, input);
}

SourceId weight_source(SourceTable& sources, std::string_view name, InputKind kind) {
  const auto [module, own] = module_of(sources, name);
  if (kind == InputKind::parameter)
    return member(sources, part(sources, module, "_parameters"), own);
  if (kind == InputKind::buffer) return member(sources, part(sources, module, "_buffers"), own);
  return part(sources, module, own);
}

std::string weight_name(const SourceTable& sources, SourceId source) {
  std::vector<std::string> parts;
  bool last = true;
  while (source != kNoSource) {
    const SourceStep& step = sources[source];
    if (step.kind == SourceKind::local && step.name == "self" && !parts.empty()) {
      std::ranges::reverse(parts);
      return fmt::format("{}", fmt::join(parts, "."));
    }
    if (step.kind == SourceKind::dict_item) {
      const auto* key = step.key.as<std::string>();
      if (key == nullptr || step.base == kNoSource) return {};
      const SourceStep& container = sources[step.base];
      const bool known = last ? container.name == "_parameters" || container.name == "_buffers"
                              : container.name == "_modules";
      if (container.kind != SourceKind::instance || !known) return {};
      parts.push_back(*key);
      source = container.base;
    } else if ((step.kind == SourceKind::instance || step.kind == SourceKind::attribute) && last) {
      parts.push_back(step.name);
      source = step.base;
    } else {
      return {};
    }
    last = false;
  }
  return {};
}

Guard temporary_buffer(SourceTable& sources, std::string_view name) {
  const auto [module, own] = module_of(sources, name);
  return guard(GuardKind::has_key, part(sources, module, "_non_persistent_buffers_set"), own);
}

bool is_temporary(const Interface& interface, std::string_view name) {
  return std::ranges::any_of(interface.guards, [&](const Guard& guard) {
    if (guard.kind != GuardKind::has_key || guard.source == kNoSource) return false;
    const SourceStep& set = interface.sources[guard.source];
    const auto* own = guard.expected.as<std::string>();
    if (own == nullptr || set.name != "_non_persistent_buffers_set") return false;
    const std::string path = weight_name(interface.sources, guard.source);
    const std::size_t end = path.size() - set.name.size();
    return path.substr(0, end) + *own == name;
  });
}

namespace {

Result<void> check_container(const Tree& in) {
  if (in.is_leaf()) return {};
  const ContainerRow* row = find_container(in.type, &ContainerRow::type);
  if (row == nullptr) {
    return failure(Code::PS0211, fmt::format("an argument is a {}, which calls do not have here",
                                             in.type.substr(0, 200)));
  }
  if (row->keyed && !keys_of(in))
    return failure(Code::PS0211, "an argument is a dict whose keys are no texts and integers");
  for (const Tree& child : in.children) {
    if (auto known = check_container(child); !known) return known;
  }
  return {};
}

}  // namespace

Result<void> check_containers(const Tree& in) {
  if (in.type != "builtins.tuple" || in.children.size() != 2 ||
      in.children[0].type != "builtins.tuple" || in.children[1].type != "builtins.dict") {
    std::string found = in.type;
    for (const Tree& child : in.children) found += ", " + child.type;
    return failure(Code::PS0211,
                   fmt::format("the call is no tuple of a tuple and a dict, the arguments and the "
                               "keyword arguments, but {}",
                               found.substr(0, 200)));
  }
  return check_container(in);
}

std::vector<SourceId> argument_places(const Tree& in, const std::vector<std::string>& names,
                                      Interface& interface) {
  return Places(interface).run(in, names);
}

ArgumentTree argument_tree(const Interface& interface) {
  if (auto tree = TreeBuilder(interface).run()) return std::move(*tree);
  ArgumentTree out;
  out.in = {
      "builtins.tuple", "null", {{"builtins.tuple", "null", {}}, {"builtins.dict", "[]", {}}}};
  for (const Input& input : interface.inputs) {
    if (!is_passed(interface, input)) continue;
    out.in.children[0].children.emplace_back();
    out.names.push_back(input.name);
    out.leaves.push_back(input.source);
  }
  return out;
}

}  // namespace penstock::pt2
