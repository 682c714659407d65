#include "mutation.h"

#include <algorithm>
#include <iterator>

namespace penstock::fuzz {

namespace {

constexpr std::int64_t kEdges[] = {-1,
                                   0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   63,
                                   64,
                                   65,
                                   127,
                                   128,
                                   255,
                                   -2,
                                   -128,
                                   1 << 16,
                                   INT32_MAX,
                                   INT32_MIN,
                                   std::int64_t{1} << 32,
                                   std::int64_t{1} << 40,
                                   (std::int64_t{1} << 47) - 1,
                                   std::int64_t{1} << 47,
                                   std::int64_t{1} << 62,
                                   INT64_MAX,
                                   INT64_MIN};

constexpr std::string_view kDTypes[] = {"uint8",     "int8",       "int16",   "int32",
                                        "int64",     "float16",    "float32", "float64",
                                        "complex64", "complex128", "bool",    "bfloat16"};

constexpr std::string_view kSizes[] = {"s0",
                                       "-s0",
                                       "s0+1",
                                       "2*s0",
                                       "s0*s0",
                                       "floordiv(s0, 2)",
                                       "floordiv(1, s0)",
                                       "mod(s0, 3)",
                                       "mod(s0, -1)",
                                       "min(s0, 1)",
                                       "max(s0, 9223372036854775807)",
                                       "9223372036854775807*s0",
                                       "v0",
                                       "v1",
                                       "i0",
                                       "i0-1",
                                       "i0*i0",
                                       "s0-s0*s0"};

bool is_dtype(const std::string& text) {
  return std::ranges::find(kDTypes, text) != std::end(kDTypes);
}

}  // namespace

void Mutator::collect(Json& value, const std::string& key) {
  places_.push_back({&value, key});
  if (value.is_object()) {
    for (auto& [name, item] : value.items()) collect(item, name);
  } else if (value.is_array()) {
    for (Json& item : value) collect(item, key);
  }
}

const Json* Mutator::other_under(const std::string& key) {
  std::vector<const Json*> found;
  for (const Place& place : places_) {
    if (place.key == key) found.push_back(place.value);
  }
  return found.empty() ? nullptr : found[below(found.size())];
}

void Mutator::edit_number(Json& value) {
  switch (below(4)) {
    case 0:
      value = kEdges[below(std::size(kEdges))];
      break;
    case 1:
      if (value.is_number_integer()) {
        const auto number = static_cast<std::uint64_t>(value.get<std::int64_t>());
        value = static_cast<std::int64_t>(below(2) == 0 ? number + 1 : number - 1);
      }
      break;
    case 2:
      value = kSizes[below(std::size(kSizes))];
      break;
    default:
      if (const Json* other = other_under(places_[below(places_.size())].key);
          other && other->is_number()) {
        value = Json(*other);
      }
  }
}

void Mutator::edit_string(const Place& place) {
  const std::string text = place.value->get<std::string>();
  if (is_dtype(text) && below(4) != 0) {
    *place.value = kDTypes[below(std::size(kDTypes))];
    return;
  }
  switch (below(6)) {
    case 0:
      *place.value = "";
      break;
    case 1:
      *place.value = kSizes[below(std::size(kSizes))];
      break;
    case 2:
      *place.value = text + text;
      break;
    case 3:
      *place.value = static_cast<std::int64_t>(below(5));
      break;
    default:
      if (const Json* other = other_under(place.key)) *place.value = Json(*other);
  }
}

void Mutator::edit_list(Json& list) {
  if (list.empty()) {
    list.push_back(below(2) == 0 ? Json(0) : Json::object());
    return;
  }
  const std::size_t at = below(list.size()), other = below(list.size());
  switch (below(6)) {
    case 0:
      list.erase(at);
      break;
    case 1:
      list.push_back(Json(list[at]));
      break;
    case 2:
      std::swap(list[at], list[other]);
      break;
    case 3:
      list[at] = Json(list[other]);
      break;
    case 4:
      list.clear();
      break;
    default:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), Json(list[other]));
  }
}

void Mutator::edit_record(Json& record) {
  if (record.empty()) return;
  auto at = record.begin();
  std::advance(at, below(record.size()));
  if (below(3) == 0) {
    record.erase(at);
  } else if (const Json* other = other_under(at.key())) {
    at.value() = Json(*other);
  }
}

void Mutator::edit_one(Json& root) {
  places_.clear();
  collect(root, "");
  // The graph's own parts are a few places among many that only reports look at.
  static constexpr std::string_view kQuiet[] = {"location", "stack",    "file",       "line",
                                                "column",   "end_line", "end_column", "meta",
                                                "penstock", "version"};
  Place place = places_[below(places_.size())];
  for (int tries = 0; tries < 6 && std::ranges::find(kQuiet, place.key) != std::end(kQuiet);
       ++tries) {
    place = places_[below(places_.size())];
  }
  Json& value = *place.value;
  if (below(12) == 0) {
    if (const Json* other = other_under(place.key)) value = Json(*other);
  } else if (value.is_number()) {
    edit_number(value);
  } else if (value.is_string()) {
    edit_string(place);
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_array()) {
    edit_list(value);
  } else if (value.is_object()) {
    edit_record(value);
  } else {
    value = static_cast<std::int64_t>(below(3));
  }
}

void Mutator::edit(Json& document) {
  for (std::size_t edits = 1 + below(below(4) == 0 ? 6 : 2); edits > 0; --edits) edit_one(document);
}

std::string Mutator::edit_text(std::string text, const std::vector<std::string_view>& words) {
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size() + 1);
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(std::min(at, text.size()), below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        if (at + 8 <= text.size()) {
          const std::int64_t edge = kEdges[below(std::size(kEdges))];
          text.replace(at, 8, reinterpret_cast<const char*>(&edge), 8);
        }
        break;
      case 5:
        if (std::string part = text.substr(below(text.size() + 1), 1 + below(8));
            text.size() < 10000) {
          for (std::size_t times = below(below(8) == 0 ? 3000 : 4); times > 0; --times)
            text.insert(at, part);
        }
        break;
      default:
        if (!words.empty()) text.insert(at, words[below(words.size())]);
    }
  }
  return text;
}

}  // namespace penstock::fuzz
