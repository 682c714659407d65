#include "interchange/pt2/weights.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/json/field.h"
#include "formats/scan.h"
#include "interchange/pt2/json.h"
#include "interchange/pt2/values.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

/// Sizes and strides as numbers, and what they come to.
struct Layout {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  std::int64_t count = 1;  ///< of elements
  std::int64_t end = 0;    ///< one behind the last element, in elements of the memory
};

std::optional<Layout> layout_of(const TensorType& type) {
  Layout out;
  const auto offset = type.storage_offset.constant();
  if (!offset || *offset < 0) return std::nullopt;
  out.offset = *offset;
  std::int64_t last = *offset;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = type.sizes[i].constant(), stride = type.strides[i].constant();
    if (!size || !stride || *size < 0 || *stride < 0) return std::nullopt;
    out.sizes.push_back(*size);
    out.strides.push_back(*stride);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(out.count, *size, &out.count)) return std::nullopt;
    if (*size > 0 && (__builtin_mul_overflow(*size - 1, *stride, &reach) ||
                      __builtin_add_overflow(last, reach, &last)))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, 1, &out.end)) return std::nullopt;
  if (out.count == 0) out.end = 0;
  return out;
}

/// Copies the elements row by row, the last dim fastest.
std::string gather(std::string_view memory, const Layout& layout, std::int64_t width) {
  std::string out;
  out.reserve(static_cast<std::size_t>(layout.count * width));
  std::vector<std::int64_t> at(layout.sizes.size(), 0);
  std::int64_t place = layout.offset;
  for (std::int64_t i = 0; i < layout.count; ++i) {
    out += memory.substr(static_cast<std::size_t>(place * width), static_cast<std::size_t>(width));
    for (std::size_t d = at.size(); d-- > 0;) {
      place += layout.strides[d];
      if (++at[d] < layout.sizes[d]) break;
      place -= layout.strides[d] * layout.sizes[d];
      at[d] = 0;
    }
  }
  return out;
}

/// The tensor's elements in `memory`, or what is wrong with them.
Result<std::string> elements(std::string_view memory, const TensorType& type,
                             const std::string& name) {
  const auto layout = layout_of(type);
  const std::int64_t width = facts(type.dtype).size;
  std::int64_t bytes = 0, wanted = 0;
  if (!layout || __builtin_mul_overflow(layout->end, width, &wanted) ||
      __builtin_mul_overflow(layout->count, width, &bytes) ||
      wanted > static_cast<std::int64_t>(memory.size())) {
    return failure(Code::PS0201, fmt::format("{} is {}, and its memory has {} bytes", name,
                                             to_string(type), memory.size()));
  }
  // A stride of 0 makes many elements of one.
  if (static_cast<std::uint64_t>(bytes) >
      formats::kFreeInflation + memory.size() * formats::kMaxInflation)
    return failure(Code::PS0208, fmt::format("{} has too many elements for its memory", name));
  if (is_contiguous(type)) {
    return std::string(
        memory.substr(static_cast<std::size_t>(layout->count == 0 ? 0 : layout->offset * width),
                      static_cast<std::size_t>(bytes)));
  }
  return gather(memory, *layout, width);
}

tl::unexpected<Diagnostic> pickled(const std::string& name) {
  auto refused = failure(Code::PS0211,
                         fmt::format("{} is stored as a Python pickle, which only running it tells "
                                     "the contents of",
                                     name));
  refused.value().hint =
      "Tensor subclasses and script objects are stored so: export the program without them.";
  return refused;
}

}  // namespace

Result<Weights> Weights::open(formats::ArchiveReader& archive, const std::string& root,
                              const std::string& model) {
  Weights weights;
  weights.archive_ = &archive;
  for (const char* kind : {"weights", "constants"}) {
    const std::string folder = fmt::format("{}data/{}/", root, kind);
    if (archive.find(fmt::format("{}{}.pt", folder, model)))
      return pickled(fmt::format("data/{}/{}.pt", kind, model));
    if (auto read = weights.read_config(folder, fmt::format("{}_{}_config.json", model, kind));
        !read)
      return tl::unexpected(std::move(read.error()));
  }
  return weights;
}

Result<void> Weights::read_config(const std::string& folder, const std::string& model) {
  auto text = archive_->member(folder + model);
  if (!text) return tl::unexpected(std::move(text.error()));
  if (!*text)
    return failure(Code::PS0201, fmt::format("the archive holds no '{}{}'", folder, model),
                   archive_->path());
  auto json = parse_limited(**text);
  formats::Problems problems;
  problems.ignore_unknown = true;
  if (json) {
    Record record(Field(*json, problems));
    const Field config = record.required("config");
    if (!config.json().is_object()) config.fail("it should be a record");
    for (const auto& item : config.json().items()) {
      const Field field(item.value(), config, item.key());
      Record payload(field);
      Entry entry;
      entry.member = folder + payload.required("path_name").text();
      const auto meta = payload.optional("tensor_meta");
      entry.pickled = payload.required("use_pickle").flag() || !meta || meta->json().is_null();
      if (!entry.pickled) entry.type = read_type(*meta, nullptr);
      Memory& memory = memories_[entry.member];
      ++memory.tensors;
      ++memory.left;
      if (!entries_.emplace(item.key(), std::move(entry)).second)
        field.fail("it stands there twice");
    }
  }
  if (json && !problems.first) return {};
  Diagnostic wrong = json ? std::move(*problems.first) : std::move(json.error());
  wrong.place = fmt::format("{}: {}{} {}", archive_->path(), folder, model, wrong.place);
  return tl::unexpected(std::move(wrong));
}

Result<Weight> Weights::take(const std::string& name, const KeepTensor& keep) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end())
    return failure(Code::PS0201,
                   fmt::format("the archive holds no tensor {}", name.substr(0, 200)));
  if (entry->second.pickled) return pickled(name);
  Memory& memory = memories_[entry->second.member];
  if (!memory.bytes) {
    auto bytes = archive_->member(entry->second.member);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    if (!*bytes) {
      return failure(Code::PS0201, fmt::format("the archive holds no '{}'", entry->second.member),
                     archive_->path());
    }
    memory.bytes = std::move(**bytes);
    if (memory.tensors > 1) memory.number = next_++;
  }
  Weight weight{entry->second.type, {}, memory.number};
  auto bytes = elements(*memory.bytes, weight.type, name);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  formats::TensorBytes tensor{"data", weight.type.dtype, {}, *bytes};
  for (const SymExpr& size : weight.type.sizes) tensor.sizes.push_back(*size.constant());
  auto hash = keep(tensor);
  if (!hash) return tl::unexpected(std::move(hash.error()));
  weight.blob = std::move(*hash);
  if (--memory.left <= 0) memory.bytes.reset();
  return weight;
}

}  // namespace penstock::pt2
