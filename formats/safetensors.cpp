// The safetensors format: eight bytes with the header's length, little-endian; the header, a JSON
// record from tensor names to {"dtype", "shape", "data_offsets": [begin, end]}; the bytes.

#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "formats/json/field.h"
#include "formats/json/parse.h"
#include "formats/scan.h"

namespace penstock::formats {

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadata = "__metadata__";

/// The bytes that the sizes and dtype ask for, if that is a number at all.
std::optional<std::uint64_t> bytes_of(const TensorBytes& tensor) {
  std::uint64_t count = static_cast<std::uint64_t>(facts(tensor.dtype).size);
  for (std::int64_t size : tensor.sizes) {
    if (size < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) {
      return std::nullopt;
    }
  }
  return count;
}

TensorBytes decode_entry(const Field& field, std::string_view name, std::string_view data) {
  Record record(field);
  TensorBytes tensor;
  tensor.name = name;
  tensor.dtype =
      read_name(record.required("dtype"), dtype_from_safetensors, "dtype of safetensors");
  record.required("shape").each([&](const Field& size) { tensor.sizes.push_back(size.integer()); });
  Field offsets = record.required("data_offsets");
  if (offsets.length() != 2) {
    offsets.fail("expected two numbers");
    return tensor;
  }
  std::int64_t begin = offsets.item(0).integer(), end = offsets.item(1).integer();
  if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > data.size()) {
    offsets.fail(fmt::format("bytes [{}, {}) of {} do not exist", begin, end, data.size()));
    return tensor;
  }
  tensor.bytes =
      data.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (bytes_of(tensor) != tensor.bytes.size()) {
    field.fail("the tensor's size and its number of bytes do not agree");
  }
  return tensor;
}

}  // namespace

std::string safetensors_header(const std::vector<TensorBytes>& tensors) {
  Json header = Json::object();
  std::size_t offset = 0;
  for (const TensorBytes& tensor : tensors) {
    std::size_t end = offset + tensor.bytes.size();
    header[tensor.name] = {{"dtype", facts(tensor.dtype).safetensors},
                           {"shape", tensor.sizes},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::size_t length = kLengthBytes + text.size();
  text.append((kAlignment - length % kAlignment) % kAlignment, ' ');
  std::string out(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  }
  return out + text;
}

std::string encode_safetensors(const std::vector<TensorBytes>& tensors) {
  std::string out = safetensors_header(tensors);
  for (const TensorBytes& tensor : tensors) out += tensor.bytes;
  return out;
}

namespace {

/// The header's length, as the first eight bytes say it.
std::uint64_t header_length(std::string_view bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

Result<Json> parse_header(std::string_view header) {
  JsonScanner scanner;
  if (scanner.scan(header) != DocumentScanner::Found::end) {
    return failure(Code::PS0207, "the header is no JSON record");
  }
  auto json = parse_value(header, false);
  if (!json) return failure(Code::PS0207, "header: " + json.error().message, json.error().place);
  if (!json->is_object()) return failure(Code::PS0207, "the header is no JSON record");
  return std::move(*json);
}

}  // namespace

Result<std::optional<std::uint64_t>> safetensors_length(std::string_view start) {
  if (start.size() < kLengthBytes) return std::nullopt;
  const std::uint64_t length = header_length(start);
  if (length > kMaxHeader)
    return failure(Code::PS0207, "the header is longer than the format allows");
  if (length > start.size() - kLengthBytes) return std::nullopt;
  auto json = parse_header(start.substr(kLengthBytes, static_cast<std::size_t>(length)));
  if (!json) return tl::unexpected(std::move(json.error()));
  std::uint64_t last = 0;
  for (const Json& tensor : *json) {
    const auto offsets = tensor.find("data_offsets");
    const bool ends = tensor.is_object() && offsets != tensor.end() && offsets->is_array() &&
                      offsets->size() == 2;
    // Offsets that are none, decode_safetensors tells of.
    if (ends && offsets->back().is_number_unsigned())
      last = std::max(last, offsets->back().get<std::uint64_t>());
  }
  std::uint64_t whole = 0;
  if (__builtin_add_overflow(kLengthBytes + length, last, &whole))
    return failure(Code::PS0207, "the tensors are too long");
  return whole;
}

Result<std::vector<TensorBytes>> decode_safetensors(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return failure(Code::PS0207, "the file is too short");
  const std::uint64_t length = header_length(bytes);
  if (length > kMaxHeader || length > bytes.size() - kLengthBytes) {
    return failure(Code::PS0207, "the header is longer than the file");
  }
  auto json = parse_header(bytes.substr(kLengthBytes, static_cast<std::size_t>(length)));
  if (!json) return tl::unexpected(std::move(json.error()));
  Problems problems;
  Field root(*json, problems);
  std::vector<TensorBytes> tensors;
  auto data = bytes.substr(kLengthBytes + static_cast<std::size_t>(length));
  for (const auto& item : json->items()) {
    if (item.key() == kMetadata) continue;
    tensors.push_back(decode_entry(Field(item.value(), root, item.key()), item.key(), data));
  }
  if (problems.first) {
    return failure(Code::PS0207, "header: " + problems.first->message, problems.first->place);
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorBytes& a, const TensorBytes& b) {
    return a.bytes.data() < b.bytes.data();
  });
  return tensors;
}

Result<std::string> put_tensor(store::Store& store, const TensorBytes& tensor) {
  TensorBytes named = tensor;
  if (named.name.empty()) named.name = "tensor";
  std::string header = safetensors_header({named});
  std::array<std::string_view, 2> pieces{header, tensor.bytes};
  return store.put(pieces);
}

Result<TensorBlob> get_tensor(const store::Store& store, std::string_view hash, bool check) {
  auto file = store.get(hash, check);
  if (!file) return tl::unexpected(file.error());
  auto tensors = decode_safetensors(file->bytes());
  if (!tensors) {
    Diagnostic diagnostic = tensors.error();
    diagnostic.place = fmt::format("blob {}", hash);
    return tl::unexpected(std::move(diagnostic));
  }
  if (tensors->size() != 1) {
    return failure(Code::PS0207,
                   fmt::format("blob {} holds {} tensors, not one", hash, tensors->size()));
  }
  return TensorBlob{std::move(*file), std::move(tensors->front())};
}

}  // namespace penstock::formats
