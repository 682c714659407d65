// cuDNN's graph interface for tests, under the name of the real one: convolutions of float32 on the
// host, put into the streams of fake_cuda.cpp. Like the real one it takes images channels-last, and
// names engines of which not all may be used: the first gives other bits each time, the second
// rounds factors.
#include "fake_cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "fake_cuda.h"

namespace {

enum : int { kSuccess = 0, kBad = 2000, kUnsupported = 3000 };
enum : int { kDescriptor = 15 };

struct Descriptor {
  int kind = 0;
  bool made = false;
  std::map<int, std::vector<char>> values;
  std::map<int, std::vector<std::shared_ptr<Descriptor>>> parts;
  int engine = 0;
  explicit Descriptor(int of) : kind(of) { ++fake_cudnn()->alive; }
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() { --fake_cudnn()->alive; }

  template <class Value>
  std::vector<Value> list(int attribute) const {
    const auto found = values.find(attribute);
    if (found == values.end()) return {};
    std::vector<Value> made_list(found->second.size() / sizeof(Value));
    std::memcpy(made_list.data(), found->second.data(), found->second.size());
    return made_list;
  }
  template <class Value>
  Value value(int attribute) const {
    const auto all = list<Value>(attribute);
    return all.empty() ? Value() : all.front();
  }
  const Descriptor* part(int attribute) const {
    const auto found = parts.find(attribute);
    return found == parts.end() ? nullptr : found->second.front().get();
  }
};
using Shared = std::shared_ptr<Descriptor>;

Shared& shared(void* descriptor) {
  return *static_cast<Shared*>(descriptor);
}

FakeCudnn g_facts;
int g_handle = 0;
void* g_stream = nullptr;

using Numbers = std::vector<std::int64_t>;

/// An image: memory of the caller's, or what lies between two operations.
struct Image {
  Numbers sizes, strides;
  float* memory = nullptr;
  std::vector<float> own;
  float& at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    const Numbers index = {n, c, h, w};
    std::int64_t place = 0;
    for (std::size_t i = 0; i < 4; ++i) place += sizes[i] == 1 ? 0 : index[i] * strides[i];
    return (memory != nullptr ? memory : own.data())[place];
  }
};

class Computation {
 public:
  Computation(Shared graph, std::map<std::int64_t, float*> places)
      : graph_(std::move(graph)), places_(std::move(places)) {}
  void run() {
    for (const Shared& operation : graph_->parts.at(801)) {
      if (operation->kind == 10) {
        convolve(*operation);
      } else {
        combine(*operation);
      }
    }
  }

 private:
  Image& image(const Descriptor* tensor) {
    const auto id = tensor->value<std::int64_t>(906);
    Image& made = images_[id];
    if (!made.sizes.empty()) return made;
    made.sizes = tensor->list<std::int64_t>(902);
    made.strides = tensor->list<std::int64_t>(903);
    if (tensor->value<char>(907) != 0) {
      std::int64_t count = 1;
      for (std::int64_t size : made.sizes) count *= size;
      made.own.resize(static_cast<std::size_t>(count));
    } else {
      made.memory = places_.at(id);
    }
    return made;
  }
  template <class Visit>
  static void each(const Image& out, const Visit& visit) {
    for (std::int64_t n = 0; n < out.sizes[0]; ++n) {
      for (std::int64_t c = 0; c < out.sizes[1]; ++c) {
        for (std::int64_t h = 0; h < out.sizes[2]; ++h) {
          for (std::int64_t w = 0; w < out.sizes[3]; ++w) visit(n, c, h, w);
        }
      }
    }
  }
  void convolve(const Descriptor& operation) {
    const Descriptor& facts = *operation.part(702);
    const Numbers dilation = facts.list<std::int64_t>(102), stride = facts.list<std::int64_t>(103),
                  padding = facts.list<std::int64_t>(105);
    Image &x = image(operation.part(704)), &weight = image(operation.part(703)),
          &out = image(operation.part(705));
    each(out, [&](std::int64_t n, std::int64_t o, std::int64_t h, std::int64_t w) {
      float sum = 0;
      for (std::int64_t c = 0; c < weight.sizes[1]; ++c) {
        for (std::int64_t i = 0; i < weight.sizes[2]; ++i) {
          for (std::int64_t j = 0; j < weight.sizes[3]; ++j) {
            const std::int64_t row = h * stride[0] + i * dilation[0] - padding[0],
                               column = w * stride[1] + j * dilation[1] - padding[1];
            const bool inside = row >= 0 && row < x.sizes[2] && column >= 0 && column < x.sizes[3];
            if (inside) sum += x.at(n, c, row, column) * weight.at(o, c, i, j);
          }
        }
      }
      out.at(n, o, h, w) = sum;
    });
  }
  void combine(const Descriptor& operation) {
    const bool relu = operation.part(750)->value<int>(0) == 100;
    Image &x = image(operation.part(751)), &out = image(operation.part(753));
    Image* other = relu ? nullptr : &image(operation.part(752));
    each(out, [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
      const float value = x.at(n, c, h, w);
      out.at(n, c, h, w) = relu ? std::max(value, 0.0F) : value + other->at(n, c, h, w);
    });
  }

  Shared graph_;
  std::map<std::int64_t, float*> places_;
  std::map<std::int64_t, Image> images_;
};

/// What the real library asks of a descriptor when it is finished.
bool is_whole(const Descriptor& made) {
  const auto has = [&](std::initializer_list<int> attributes) {
    return std::all_of(attributes.begin(), attributes.end(), [&](int attribute) {
      return made.values.contains(attribute) || made.parts.contains(attribute);
    });
  };
  switch (made.kind) {
    case 1:
      return has({100, 101, 102, 103, 104, 105, 106});
    case 10:
      return has({700, 701, 702, 703, 704, 705});
    case 13:
      return has({750, 751, 753}) && (made.part(750)->value<int>(0) == 100 || has({752}));
    case 15:
      return has({800, 801});
    case 17: {
      const Numbers sizes = made.list<std::int64_t>(902), strides = made.list<std::int64_t>(903);
      return has({900, 901, 906}) && made.value<int>(901) == 0 && sizes.size() == 4 &&
             strides == Numbers{sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
    }
    default:
      return true;
  }
}

}  // namespace

extern "C" {

FakeCudnn* fake_cudnn() {
  return &g_facts;
}
int cudnnCreate(void** handle) {
  *handle = &g_handle;
  return kSuccess;
}
int cudnnSetStream(void* handle, void* stream) {
  g_stream = stream;
  return handle == &g_handle ? kSuccess : kBad;
}
void cudnnGetLastErrorString(char* message, std::size_t size) {
  std::strncpy(message, "of the tests", size);
}
int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  *descriptor = new Shared(std::make_shared<Descriptor>(kind));
  return kSuccess;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Shared*>(descriptor);
  return kSuccess;
}
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, std::int64_t count,
                             const void* values) {
  Descriptor& made = *shared(descriptor);
  if (made.made) return kBad;
  if (type == kDescriptor) {
    auto& parts = made.parts[attribute];
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back(shared(static_cast<void* const*>(values)[i]));
      if (!parts.back()->made) return kBad;
    }
    return kSuccess;
  }
  // Handles, integers, reals of double precision and pointers have eight bytes, a truth has one.
  const std::size_t size = type == 2 ? 1 : type == 0 || type == 3 || type == 5 || type == 6 ? 8 : 4;
  const auto* bytes = static_cast<const char*>(values);
  made.values[attribute].assign(bytes, bytes + static_cast<std::size_t>(count) * size);
  return kSuccess;
}
int cudnnBackendGetAttribute(void* descriptor, int attribute, int, std::int64_t wanted,
                             std::int64_t* count, void* values) {
  Descriptor& made = *shared(descriptor);
  *count = 0;
  if (made.kind == 4 && attribute == 202) {
    // Three engines, by the first of the heuristics alone.
    if (made.value<int>(200) != 3 || g_facts.knows_none) return kSuccess;
    *count = 3;
    for (int i = 0; i < wanted && i < 3; ++i) {
      const Shared& config = shared(static_cast<void**>(values)[i]);
      config->made = true;
      config->engine = i;
      config->parts[301] = {made.parts.at(201).front()};
    }
    return kSuccess;
  }
  if (made.kind == 3 && attribute == 300) {
    shared(*static_cast<void**>(values))->engine = made.engine;
    *count = 1;
    return kSuccess;
  }
  if (made.kind == 2 && attribute == 1303) {
    auto* notes = static_cast<int*>(values);
    if (made.engine < 2) notes[(*count)++] = made.engine == 0 ? 4 : 0;
    return kSuccess;
  }
  if (made.kind == 5 && attribute == 402) {
    std::memcpy(values, &g_facts.workspace, sizeof g_facts.workspace);
    *count = 1;
    return kSuccess;
  }
  return kBad;
}
int cudnnBackendFinalize(void* descriptor) {
  Descriptor& made = *shared(descriptor);
  if (!is_whole(made)) return kUnsupported;
  if (made.kind == 4) ++g_facts.heuristics;
  made.made = true;
  return kSuccess;
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  const Descriptor& given = *shared(pack);
  const Descriptor& config = *shared(plan)->part(401);
  void* const workspace = given.value<void*>(1003);
  if (handle != &g_handle || (workspace == nullptr) != (g_facts.workspace == 0)) return kBad;
  const auto ids = given.list<std::int64_t>(1000);
  const auto pointers = given.list<float*>(1001);
  std::map<std::int64_t, float*> places;
  for (std::size_t i = 0; i < ids.size(); ++i) places[ids[i]] = pointers[i];
  const Shared graph = config.parts.at(301).front();
  const Descriptor& x = *graph->parts.at(801).front()->part(704);
  ++g_facts.convolutions;
  g_facts.engine = config.engine;
  g_facts.alignment = x.value<std::int64_t>(900);
  auto put = reinterpret_cast<decltype(&fake_cuda_put)>(dlsym(RTLD_DEFAULT, "fake_cuda_put"));
  put(g_stream, [computation = std::make_shared<Computation>(graph, places)] {
    Computation(*computation).run();
  });
  return kSuccess;
}

}  // extern "C"
