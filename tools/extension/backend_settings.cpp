#include "tools/extension/backend_settings.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "formats/stream.h"
#include "python/hook.h"
#include "python/literal.h"
#include "tools/extension/kept_tensors.h"

namespace penstock::tools {

namespace {

using python::Settings;

/// The Python that runs commands written in it.
std::string backend_python() {
  const char* named = getenv("PENSTOCK_BACKEND_PYTHON");
  if (named != nullptr && *named != '\0') return named;
  PyObject* own = PySys_GetObject("executable");
  if (own != nullptr && PyUnicode_Check(own) && PyUnicode_GetLength(own) > 0)
    return python::text_of(own);
  return "python3";
}

/// "NAME\tFILE" as the words that start it.
jit::BackendCommand command_of(std::string_view line) {
  const std::size_t tab = std::min(line.find('\t'), line.size());
  jit::BackendCommand command{std::string(line.substr(0, tab)), {}};
  const std::string file(line.substr(std::min(tab + 1, line.size())));
  if (file.ends_with(".py")) command.words.push_back(backend_python());
  command.words.push_back(file);
  return command;
}

/// A size, stride or offset of what was reached by `from` is one of what is reached by `to`.
void move_symbols(Interface& interface, SourceId from, SourceId to) {
  for (Symbol& symbol : interface.symbols) {
    if (symbol.source == kNoSource) continue;
    if (symbol.source == from) {
      symbol.source = to;
      continue;
    }
    SourceStep step = interface.sources[symbol.source];
    if (step.base != from) continue;
    step.base = to;
    symbol.source = interface.sources.intern(std::move(step));
  }
}

/// Makes of what calls pass arguments of their own, in order, whatever they are to the program: a
/// back end is called with nothing else. What guards it is not told, but for conditions on sizes.
void pass_as_arguments(Interface& interface) {
  std::erase_if(interface.guards, [](const Guard& guard) { return !guard.condition; });
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    Input& input = interface.inputs[i];
    if (!input.blob.empty()) continue;
    SourceStep local;
    local.kind = SourceKind::local;
    local.name = "given_" + std::to_string(i);
    local.index = static_cast<std::int64_t>(i);
    const SourceId source = interface.sources.intern(std::move(local));
    if (input.source != kNoSource) move_symbols(interface, input.source, source);
    input.source = source;
    const bool tensor = input.kind == InputKind::parameter || input.kind == InputKind::buffer ||
                        input.kind == InputKind::constant;
    if (tensor) input.kind = InputKind::user;
  }
}

/// Writes a graph, alone in its stream, with the elements of its weights into the store.
class DocumentWriter {
 public:
  DocumentWriter(store::Store store, std::string directory)
      : store_(std::move(store)), directory_(std::move(directory)) {}

  Result<jit::BackendDocument> operator()(const Graph& graph, std::span<PyObject* const> weights) {
    const python::HookPause pause;
    formats::GraphDocument document{graph, {}};
    auto& inputs = formats::interface_of(document).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].blob.clear();
      if (weights[i] == nullptr) continue;
      auto hash = keep_tensor(store_, weights[i], inputs[i].type);
      if (!hash) return tl::unexpected(hash.error());
      inputs[i].blob = std::move(*hash);
    }
    pass_as_arguments(formats::interface_of(document));
    formats::WriteOptions options;
    options.strip_meta = true;
    options.directory = directory_;
    auto text = formats::encode(document, options);
    if (!text) return tl::unexpected(text.error());
    auto end = formats::encode(formats::EndDocument(), options);
    if (!end) return tl::unexpected(end.error());
    auto kept = store_.put(*text + *end);
    if (!kept) return tl::unexpected(kept.error());
    return jit::BackendDocument{store_.blob_path(*kept), *kept};
  }

 private:
  store::Store store_;
  std::string directory_;
};

}  // namespace

Result<std::optional<jit::BackendOptions>> backend_options(
    const Settings& settings, DocumentSink& sink, std::function<void(const Diagnostic&)> report) {
  if (settings.get("backend").empty()) return std::nullopt;
  auto store = store::Store::open(std::string(settings.get("store")));
  if (!store) return tl::unexpected(store.error());
  jit::BackendOptions options;
  options.chooses = settings.get("backend") == "auto";
  options.seconds = std::strtod(std::string(settings.get("backend-seconds")).c_str(), nullptr);
  options.tool = settings.get("backend-tool");
  std::string_view lines = settings.get("backend-commands");
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    options.commands.push_back(command_of(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  options.document = [writer = std::make_shared<DocumentWriter>(
                          std::move(*store), std::string(settings.get("directory")))](
                         const Graph& graph, std::span<PyObject* const> weights) {
    return (*writer)(graph, weights);
  };
  options.tell = [documents = &sink](const BackendEvent& event) { documents->chose(event); };
  options.report = std::move(report);
  return options;
}

}  // namespace penstock::tools
