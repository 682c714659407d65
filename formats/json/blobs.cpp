// All references of a graph to the store stand in one list, {"use", "index", "hash"} each, so that
// leaving tensors out leaves out exactly one field.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

bool is_hash(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

Json blob_reference(std::string_view use, std::size_t index, const std::string& hash) {
  return Json{{"use", use}, {"index", index}, {"hash", hash}};
}

void encode_blobs(const Interface& interface, Json& out) {
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const std::string& hash = interface.inputs[i].blob;
    if (!hash.empty()) out.push_back(blob_reference("input", i, hash));
  }
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    const std::string& hash = interface.outputs[i].blob;
    if (!hash.empty()) out.push_back(blob_reference("output", i, hash));
  }
}

void decode_blobs(Record& record, Interface& interface, const OtherBlob& other) {
  record.each("blobs", [&](const Field& item) {
    Record reference(item);
    Field use_field = reference.required("use");
    std::string use = use_field.text();
    Field index_field = reference.required("index");
    std::int64_t index = index_field.integer();
    Field hash_field = reference.required("hash");
    const std::string hash = hash_field.text();
    // The hash becomes a file name, so nothing else may stand there.
    if (!is_hash(hash)) return hash_field.fail("expected 32 hexadecimal digits in lower case");
    auto position = static_cast<std::size_t>(index);
    if (use == "input") {
      if (position >= interface.inputs.size()) return index_field.fail("no such input");
      interface.inputs[position].blob = hash;
    } else if (use == "output") {
      if (position >= interface.outputs.size()) return index_field.fail("no such output");
      interface.outputs[position].blob = hash;
    } else if (!other || !other(use, position, hash)) {
      use_field.fail(fmt::format("this level has no blob for {} {}", use.substr(0, 40), index));
    }
  });
}

}  // namespace penstock::formats
