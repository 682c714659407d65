#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/safetensors.h"
#include "formats/scan.h"
#include "interchange/pt2/write_state.h"

namespace penstock::pt2 {

namespace {

/// Where an element of an input lies, row by row, the last dim fastest.
class Places {
 public:
  explicit Places(const TensorType& type) : place_(type.storage_offset.constant().value_or(0)) {
    for (std::size_t i = 0; i < type.rank(); ++i) {
      sizes_.push_back(type.sizes[i].constant().value_or(0));
      strides_.push_back(type.strides[i].constant().value_or(0));
      at_.push_back(0);
    }
  }
  std::int64_t place() const { return place_; }
  void next() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      place_ += strides_[d];
      if (++at_[d] < sizes_[d]) return;
      place_ -= strides_[d] * sizes_[d];
      at_[d] = 0;
    }
  }
  /// One behind the last element; 0 where there is none.
  std::int64_t end() const {
    std::int64_t last = place_;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] == 0) return 0;
      last += (sizes_[d] - 1) * strides_[d];
    }
    return last + 1;
  }

 private:
  std::vector<std::int64_t> sizes_, strides_, at_;
  std::int64_t place_;
};

struct Group {
  std::vector<ValueId> inputs;  ///< that lie in the same memory
};

/// The memory of a group, with the elements of its tensors in their places.
Result<std::string> memory_of(const Group& group, const Interface& interface,
                              const store::Store& store) {
  std::string memory;
  for (const ValueId id : group.inputs) {
    const Input& input = interface.inputs[id];
    auto blob = formats::get_tensor(store, input.blob);
    if (!blob) return tl::unexpected(std::move(blob.error()));
    const auto width = static_cast<std::int64_t>(facts(input.type.dtype).size);
    Places places(input.type);
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(places.end(), width, &bytes) || bytes < 0 ||
        static_cast<std::uint64_t>(bytes) >
            formats::kFreeInflation + blob->tensor.bytes.size() * formats::kMaxInflation)
      return failure(Code::PS0208,
                     fmt::format("the memory of {} has gaps that are too large", input.name));
    if (memory.size() < static_cast<std::size_t>(bytes))
      memory.resize(static_cast<std::size_t>(bytes), '\0');
    const std::string_view elements = blob->tensor.bytes;
    for (std::size_t at = 0; at + static_cast<std::size_t>(width) <= elements.size();
         at += static_cast<std::size_t>(width)) {
      const std::int64_t to = places.place() * width;
      if (to < 0 || to + width > static_cast<std::int64_t>(memory.size()))
        return failure(Code::PS0207, fmt::format("the elements of {} are not those of {}",
                                                 input.name, to_string(input.type)));
      std::memcpy(memory.data() + to, elements.data() + at, static_cast<std::size_t>(width));
      places.next();
    }
  }
  return memory;
}

}  // namespace

Result<std::vector<formats::PackMember>> write_weights(const WriteState& state,
                                                       const std::string& root,
                                                       const store::Store& store) {
  const Interface& interface = state.graph.interface;
  std::vector<formats::PackMember> members;
  Json configs[2] = {Json::object(), Json::object()};
  std::map<std::pair<int, std::int64_t>, Group> groups;
  for (const auto& [id, name] : state.weight_names) {
    const Input& input = interface.inputs[id];
    const bool held = input.kind == InputKind::parameter ||
                      (input.kind == InputKind::buffer && !is_temporary(interface, name));
    groups[{held ? 0 : 1, memory_of(interface, id)}].inputs.push_back(id);
  }
  int next[2] = {0, 0};
  for (const auto& [key, group] : groups) {
    const int kind = key.first;
    const std::string file = fmt::format("{}_{}", kind == 0 ? "weight" : "tensor", next[kind]++);
    auto memory = memory_of(group, interface, store);
    if (!memory) return tl::unexpected(std::move(memory.error()));
    members.push_back({fmt::format("{}data/{}/{}", root, kind == 0 ? "weights" : "constants", file),
                       std::move(*memory)});
    for (const ValueId id : group.inputs) {
      configs[kind][state.weight_names.at(id)] = {
          {"path_name", file},
          {"is_param", interface.inputs[id].kind == InputKind::parameter},
          {"use_pickle", false},
          {"tensor_meta", state.type(interface.inputs[id].type)}};
    }
  }
  for (const int kind : {0, 1}) {
    const char* name = kind == 0 ? "weights" : "constants";
    members.push_back({fmt::format("{}data/{}/model_{}_config.json", root, name, name),
                       Json{{"config", configs[kind]}}.dump()});
  }
  return members;
}

}  // namespace penstock::pt2
