#include "interchange/pt2/tree.h"

#include <nlohmann/json.hpp>

#include "formats/json/field.h"
#include "formats/json/parse.h"
#include "interchange/pt2/json.h"

namespace penstock::pt2 {

namespace {

using formats::Field;
using formats::Json;
using formats::Record;

Tree read(const Field& field) {
  Tree tree;
  Record record(field);
  const Field type = record.required("type");
  if (type.json().is_null()) {
    record.ignore_rest();
    return tree;
  }
  tree.type = type.text();
  if (tree.type.empty()) type.fail("a container has a type");
  const Field context = record.required("context");
  tree.context = context.json().is_null() ? "null" : context.text();
  record.required("children_spec").each([&](const Field& child) {
    tree.children.push_back(read(child));
  });
  record.ignore_rest();
  return tree;
}

Json write(const Tree& tree) {
  Json out = Json::object();
  out["type"] = tree.is_leaf() ? Json(nullptr) : Json(tree.type);
  out["context"] = tree.is_leaf() ? Json(nullptr) : Json(tree.context);
  out["children_spec"] = Json::array();
  for (const Tree& child : tree.children) out["children_spec"].push_back(write(child));
  return out;
}

}  // namespace

Result<Tree> read_tree(std::string_view text) {
  auto json = parse_limited(text);
  if (!json) return tl::unexpected(std::move(json.error()));
  formats::Problems problems;
  const Field field(*json, problems);
  Tree tree;
  if (!json->is_array() || json->size() != 2) {
    field.fail("a tree of containers is a list of a version and a tree");
  } else if (field.item(0).integer() != 1) {
    field.item(0).fail("trees of containers have version 1");
  } else {
    tree = read(field.item(1));
  }
  if (problems.first) return tl::unexpected(std::move(*problems.first));
  return tree;
}

std::string to_text(const Tree& tree) {
  return Json::array({1, write(tree)}).dump();
}

std::optional<std::vector<Argument>> keys_of(const Tree& tree) {
  auto json = parse_limited(tree.context);
  if (!json || !json->is_array() || json->size() != tree.children.size()) return std::nullopt;
  std::vector<Argument> keys;
  for (const Json& key : *json) {
    if (key.is_string()) {
      keys.emplace_back(key.get<std::string>());
    } else if (key.is_number_integer()) {
      keys.emplace_back(key.get<std::int64_t>());
    } else {
      return std::nullopt;
    }
  }
  return keys;
}

std::string context_of(const std::vector<Argument>& keys) {
  Json out = Json::array();
  for (const Argument& key : keys) {
    if (const auto* text = key.as<std::string>()) out.push_back(*text);
    if (const auto* number = key.as<std::int64_t>()) out.push_back(*number);
  }
  return out.dump();
}

std::size_t count_leaves(const Tree& tree) {
  if (tree.is_leaf()) return 1;
  std::size_t count = 0;
  for (const Tree& child : tree.children) count += count_leaves(child);
  return count;
}

}  // namespace penstock::pt2
