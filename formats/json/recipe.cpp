#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

bool is_default(const Recipe& recipe) {
  return recipe.kind == Recipe::Kind::literal && recipe.literal.is_none();
}

}  // namespace

SourceId decode_source(const Field& field, SourceTable& sources) {
  auto parsed = parse_source(field.text(), sources);
  if (parsed) return *parsed;
  field.fail(parsed.error().message);
  return kNoSource;
}

Json encode_recipe(const Recipe& recipe, const SourceTable& sources) {
  Json out{{"kind", to_string(recipe.kind)}};
  switch (recipe.kind) {
    case Recipe::Kind::output:
    case Recipe::Kind::object:
      out["index"] = recipe.index;
      break;
    case Recipe::Kind::source:
      out["source"] = sources.text(recipe.source);
      break;
    case Recipe::Kind::literal:
      out["literal"] = encode_argument(recipe.literal, {});
      break;
    case Recipe::Kind::symbol:
      out["expression"] = encode_size(recipe.expression);
      break;
    case Recipe::Kind::cell:
      if (recipe.index >= 0) {
        out["index"] = recipe.index;
        break;
      }
      [[fallthrough]];
    default: {
      Json items = Json::array();
      for (const Recipe& item : recipe.items) items.push_back(encode_recipe(item, sources));
      out["items"] = std::move(items);
    }
  }
  return out;
}

Recipe decode_recipe(const Field& field, SourceTable& sources) {
  Record record(field);
  Recipe recipe;
  recipe.kind = read_name(record.required("kind"), recipe_kind_from_name, "kind of recipe");
  switch (recipe.kind) {
    case Recipe::Kind::output:
    case Recipe::Kind::object:
      recipe.index = record.required("index").integer32();
      break;
    case Recipe::Kind::source:
      recipe.source = decode_source(record.required("source"), sources);
      break;
    case Recipe::Kind::literal:
      recipe.literal = decode_argument(record.required("literal"), {});
      break;
    case Recipe::Kind::symbol:
      recipe.expression = record.required("expression").size();
      break;
    case Recipe::Kind::cell:
      if (auto index = record.optional("index")) {
        recipe.index = index->integer32();
        break;
      }
      [[fallthrough]];
    default:
      record.required("items").each(
          [&](const Field& item) { recipe.items.push_back(decode_recipe(item, sources)); });
  }
  return recipe;
}

Json encode_restore(const Restore& restore, const SourceTable& sources) {
  Json out{{"kind", to_string(restore.kind)}};
  if (restore.index != -1) out["index"] = restore.index;
  if (!restore.name.empty()) out["name"] = restore.name;
  if (!is_default(restore.target)) out["target"] = encode_recipe(restore.target, sources);
  if (!is_default(restore.key)) out["key"] = encode_recipe(restore.key, sources);
  if (!is_default(restore.value)) out["value"] = encode_recipe(restore.value, sources);
  return out;
}

Restore decode_restore(const Field& field, SourceTable& sources) {
  Record record(field);
  Restore restore;
  restore.kind = read_name(record.required("kind"), restore_kind_from_name, "kind of restoring");
  restore.index = record.integer32_or("index", -1);
  restore.name = record.text_or("name", {});
  if (auto target = record.optional("target")) restore.target = decode_recipe(*target, sources);
  if (auto key = record.optional("key")) restore.key = decode_recipe(*key, sources);
  if (auto value = record.optional("value")) restore.value = decode_recipe(*value, sources);
  return restore;
}

}  // namespace penstock::formats
