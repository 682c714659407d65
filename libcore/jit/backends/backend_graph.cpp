#include "jit/backends/backend_graph.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "jit/gate/stored_verdicts.h"
#include "jit/restore/tensor_layout.h"

namespace penstock::jit {

namespace {

using Kind = BackendAnswer::Kind;
using Outcome = BackendEvent::Outcome;
using runtime::TensorWindow;

constexpr std::size_t kAlignment = 64;
/// A call may take so many times as long as the first one, and so many seconds at least.
constexpr double kTimesFirst = 20, kLeastSeconds = 10;
constexpr double kForgetSeconds = 5;

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::size_t count_of(std::span<const std::int64_t> sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

bool is_dense(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}

/// The strides of a tensor whose elements lie one behind the other.
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  return strides;
}

/// Tensors one behind the other in the shared memory.
struct Places {
  struct Place {
    TensorWindow window;
    std::size_t offset = 0, bytes = 0;
  };
  std::vector<Place> inputs, outputs;
  std::size_t bytes = 0;

  void add(std::vector<Place>& to, const TensorWindow& window) {
    const std::size_t size = count_of(window.sizes) * facts(window.dtype).size;
    to.push_back({window, bytes, size});
    bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  static std::string text(const std::vector<Place>& places) {
    std::string out;
    for (const Place& place : places) {
      out += fmt::format("{}{{\"dtype\": \"{}\", \"sizes\": [{}], \"offset\": {}}}",
                         out.empty() ? "" : ", ", facts(place.window.dtype).name,
                         fmt::join(place.window.sizes, ", "), place.offset);
    }
    return out;
  }
};

void copy_in(const Places::Place& place, std::byte* memory) {
  const TensorWindow& from = place.window;
  if (place.bytes == 0) return;
  if (is_dense(from.sizes, from.strides)) {
    std::memcpy(memory + place.offset, from.data, place.bytes);
  } else {
    copy_elements(
        {from.data, static_cast<std::size_t>(facts(from.dtype).size), from.sizes, from.strides},
        memory + place.offset, dense_strides(from.sizes));
  }
}

void copy_out(const Places::Place& place, const std::byte* memory) {
  const TensorWindow& to = place.window;
  if (place.bytes == 0) return;
  if (is_dense(to.sizes, to.strides)) {
    std::memcpy(to.data, memory + place.offset, place.bytes);
  } else {
    const std::vector<std::int64_t> strides = dense_strides(to.sizes);
    copy_elements(
        {memory + place.offset, static_cast<std::size_t>(facts(to.dtype).size), to.sizes, strides},
        to.data, to.strides);
  }
}

/// A file of ours that is gone with its scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name) {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    path_ = fmt::format("{}/penstock-{}-{}", error ? "/tmp" : folder.string(), getpid(), name);
  }
  ~TemporaryFile() {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Whole cache lines.
SymExpr bytes_of(const Buffer& buffer) {
  constexpr std::int64_t kLine = 64;
  SymExpr bytes = facts(buffer.dtype).size;
  for (const SymExpr& size : buffer.sizes) bytes *= size;
  return floordiv(bytes + (kLine - 1), kLine) * SymExpr(kLine);
}

Buffer buffer_of(const TensorType& type, std::string name, Buffer::Kind kind, std::size_t index) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.kind = kind;
  buffer.index = static_cast<std::int32_t>(index);
  buffer.dtype = type.dtype;
  buffer.sizes = type.sizes;
  buffer.strides = type.strides;
  return buffer;
}

}  // namespace

BackendGraph::BackendGraph(Backends& backends, Backend& backend, BackendDocument document,
                           std::vector<std::size_t> written)
    : backends_(backends),
      backend_(backend),
      document_(std::move(document)),
      written_(std::move(written)),
      name_(std::to_string(backend.next_graph())),
      seconds_(backends.options().seconds) {}

BackendGraph::~BackendGraph() {
  if (process_ && process_->is_alive())
    process_->ask(fmt::format("{{\"do\": \"forget\", \"graph\": {}}}\n", json_text(name_)),
                  kForgetSeconds);
}

std::optional<BackendFailure> BackendGraph::failure_of(const BackendAnswer& answer,
                                                       bool in_call) const {
  switch (answer.kind) {
    case Kind::yes:
      return std::nullopt;
    case Kind::no:
      return BackendFailure{in_call ? Outcome::failed : Outcome::declined, answer.text};
    case Kind::ended:
      return BackendFailure{Outcome::crashed,
                            answer.text + (in_call ? ", in a call" : ", while it compiled")};
    case Kind::late:
      return BackendFailure{Outcome::hung,
                            answer.text + (in_call ? ", in a call" : ", while it compiled")};
  }
  return std::nullopt;
}

std::string BackendGraph::artefact_key() const {
  return store::hash_of(fmt::format("backend\n{}\n{}\n{}\n{}\n", backend_.name(),
                                    backend_.version(), cpu_name(), document_.hash));
}

/// What the back end left where it was told to is there for the next process.
void BackendGraph::keep_artefact(const std::string& path) const {
  auto made = access(path.c_str(), R_OK) == 0 ? store::Mapping::map(path)
                                              : Result<store::Mapping>(store::Mapping());
  if (made && !made->bytes().empty())
    static_cast<void>(backends_.store().put_kernel(artefact_key(), made->bytes()));
}

std::optional<BackendFailure> BackendGraph::compile() {
  process_ = backend_.process();
  if (!process_)
    return BackendFailure{Outcome::crashed, "its process has ended, and is not started again"};
  threads_ = team_.size();
  const std::string kept = backends_.store().kernel_path(artefact_key());
  const bool is_kept = access(kept.c_str(), R_OK) == 0;
  const TemporaryFile keep(fmt::format("{}-{}", backend_.name(), name_));
  const std::string request = fmt::format(
      "{{\"do\": \"compile\", \"graph\": {}, \"document\": {}, \"penstock\": {}, \"store\": {}, "
      "\"threads\": {}, \"written\": [{}], \"kept\": {}, \"keep\": {}}}\n",
      json_text(name_), json_text(document_.path), json_text(backends_.options().tool),
      json_text(backends_.store().directory()), threads_, fmt::join(written_, ", "),
      json_text(is_kept ? kept : ""), json_text(keep.path()));
  const BackendAnswer answer = process_->ask(request, backends_.options().seconds);
  if (answer.kind == Kind::yes && !is_kept) keep_artefact(keep.path());
  return failure_of(answer, false);
}

Result<void> BackendGraph::run(const FallbackCall& call,
                               const std::function<TensorWindow(BufferId)>& window) {
  const auto failed = [&](BackendFailure why) {
    failure_ = std::move(why);
    auto diagnostic = penstock::failure(Code::PS0505, backend_.name() + ": " + failure_.reason);
    return diagnostic;
  };
  const bool compiled = process_ && process_->is_alive() && threads_ == team_.size();
  if (!compiled) {
    if (auto why = compile()) return failed(std::move(*why));
  }
  Places places;
  for (const NamedArgument& argument : call.arguments)
    places.add(places.inputs,
               window(static_cast<BufferId>(argument.value.as<Argument::Value>()->id)));
  for (const BufferId output : call.outputs) places.add(places.outputs, window(output));
  std::byte* memory = process_->memory(places.bytes);
  if (memory == nullptr) return failed({Outcome::failed, "there is no memory to share"});
  for (const Places::Place& place : places.inputs) copy_in(place, memory);
  const std::string request = fmt::format(
      "{{\"do\": \"run\", \"graph\": {}, \"bytes\": {}, \"inputs\": [{}], \"outputs\": [{}]}}\n",
      json_text(name_), process_->memory_bytes(), Places::text(places.inputs),
      Places::text(places.outputs));
  const BackendAnswer answer = process_->ask(request, seconds_);
  if (auto why = failure_of(answer, true)) return failed(std::move(*why));
  for (const Places::Place& place : places.outputs) copy_out(place, memory);
  return {};
}

void BackendGraph::note_first_run(double seconds) {
  seconds_ = std::min(backends_.options().seconds, std::max(kLeastSeconds, kTimesFirst * seconds));
}

KernelBundle bundle_of_call(const KernelBundle& own, const OutputPlan& plan) {
  KernelBundle bundle;
  bundle.interface = own.interface;
  bundle.abi = own.abi;
  bundle.symbols = own.symbols;
  FallbackCall call;
  call.op = "backend";
  for (std::size_t i = 0; i < own.interface.inputs.size(); ++i) {
    const Input& input = own.interface.inputs[i];
    call.arguments.push_back({input.name, Argument::Value{static_cast<ValueId>(i)}});
    bundle.buffers.push_back(buffer_of(input.type, input.name, Buffer::Kind::input, i));
  }
  for (std::size_t i = 0; i < plan.made.size(); ++i) {
    Buffer buffer = buffer_of(plan.made[i], fmt::format("output{}", i), Buffer::Kind::output, i);
    buffer.strides.assign(buffer.sizes.size(), 1);
    for (std::size_t dim = buffer.sizes.size(); dim-- > 1;)
      buffer.strides[dim - 1] = buffer.strides[dim] * buffer.sizes[dim];
    buffer.bytes = bytes_of(buffer);
    call.outputs.push_back(static_cast<BufferId>(bundle.buffers.size()));
    bundle.buffers.push_back(std::move(buffer));
  }
  for (const Mutation& mutation : own.interface.mutations)
    call.outputs.push_back(static_cast<BufferId>(mutation.input));
  bundle.outputs = call.outputs;
  bundle.steps.emplace_back(std::move(call));
  return bundle;
}

void pass_only(KernelBundle& bundle, const std::vector<bool>& passed) {
  auto& call = std::get<FallbackCall>(bundle.steps.front());
  std::erase_if(call.arguments, [&](const NamedArgument& argument) {
    return !passed[argument.value.as<Argument::Value>()->id];
  });
}

}  // namespace penstock::jit
