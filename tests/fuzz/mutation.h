#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::fuzz {

using Json = nlohmann::json;

/// Damages inputs, always in the same way for the same seed.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  /// Edits some places of a document: numbers become edge values, records and items are dropped,
  /// doubled and exchanged, strings and whole values take the place of others under the same key.
  void edit(Json& document);
  /// Edits a text that is not made of records: bytes change, vanish and are doubled; `words` are
  /// put in.
  std::string edit_text(std::string text, const std::vector<std::string_view>& words);

 private:
  struct Place {
    Json* value;
    std::string key;  ///< of the record that holds it, or of the list that does
  };
  void collect(Json& value, const std::string& key);
  void edit_one(Json& root);
  void edit_number(Json& value);
  void edit_string(const Place& place);
  void edit_list(Json& list);
  void edit_record(Json& record);
  const Json* other_under(const std::string& key);

  std::mt19937_64 random_;
  std::vector<Place> places_;
};

}  // namespace penstock::fuzz
