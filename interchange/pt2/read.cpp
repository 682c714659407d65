#include "interchange/pt2/read.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "interchange/pt2/json.h"
#include "interchange/pt2/read_state.h"
#include "ir/interface_verify.h"
#include "ir/subgraphs.h"

namespace penstock::pt2 {

using formats::ArchiveReader;
using formats::Field;
using formats::Json;
using formats::Record;

namespace {

constexpr std::int64_t kSchema = 8;
constexpr std::string_view kFormat = "archive_format";
constexpr std::string_view kModels = "models/";

/// The archive's one folder, with its slash, by the member that says what it is.
std::optional<std::string> root_of(const ArchiveReader& archive) {
  for (std::uint64_t index = 0; index < archive.size(); ++index) {
    const std::string_view name = archive.name(index);
    if (!name.ends_with(kFormat)) continue;
    const std::string_view root = name.substr(0, name.size() - kFormat.size());
    if (root.ends_with('/') && root.find('/') + 1 == root.size()) return std::string(root);
  }
  return std::nullopt;
}

/// The name of the one program; PS0211 for an archive that holds none or several.
Result<std::string> find_model(const ArchiveReader& archive, const std::string& root) {
  std::vector<std::string> found;
  for (std::uint64_t index = 0; index < archive.size(); ++index) {
    std::string_view name = archive.name(index);
    if (!name.starts_with(root)) continue;
    name.remove_prefix(root.size());
    if (!name.starts_with(kModels) || !name.ends_with(".json")) continue;
    name.remove_prefix(kModels.size());
    found.emplace_back(name.substr(0, name.size() - 5));
  }
  if (found.size() == 1) return std::move(found.front());
  return failure(
      Code::PS0211,
      fmt::format("the archive holds {} exported programs, and one is read", found.size()),
      archive.path());
}

Result<void> check_format(ArchiveReader& archive, const std::string& root) {
  for (const auto& [name, wanted] :
       {std::pair("archive_format", "pt2"), std::pair("byteorder", "little")}) {
    auto bytes = archive.member(root + name);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    if (*bytes && **bytes != wanted) {
      return failure(
          Code::PS0211,
          fmt::format("{} is '{}', and '{}' is read", name, (*bytes)->substr(0, 40), wanted),
          archive.path());
    }
  }
  return {};
}

/// The class of the root module, by the first node that says it, and "forward".
std::string name_of(const Json& program) {
  const Json none;
  const auto text = [&](const char* pointer) -> std::string {
    const Json::json_pointer at(pointer);
    return program.contains(at) && program[at].is_string() ? program[at].get<std::string>() : "";
  };
  const std::string kept = text("/graph_module/metadata/name");
  if (!kept.empty()) return kept;
  const Json::json_pointer nodes("/graph_module/graph/nodes");
  if (!program.contains(nodes) || !program[nodes].is_array()) return "forward";
  for (const Json& node : program[nodes]) {
    const Json::json_pointer at("/metadata/nn_module_stack");
    if (!node.is_object() || !node.contains(at) || !node[at].is_string()) continue;
    const std::string stack = node[at].get<std::string>();  // "L__self__,,__main__.Net;…"
    std::string first = stack.substr(0, stack.find(';'));
    if (first.find(",,") == std::string::npos) continue;
    first = first.substr(first.find(",,") + 2);
    first = first.substr(first.rfind('.') + 1);
    if (!first.empty()) return first + ".forward";
  }
  return "forward";
}

/// Every symbol has to be one that an argument gives: others are made of elements of tensors.
void check_symbols(const Graph& graph, const Field& field) {
  const auto known = symbol_names(graph.interface.symbols);
  const auto check = [&](const std::string& owner, const SymExpr& size) {
    size.for_each_symbol([&](std::string_view name) {
      if (known.contains(name)) return;
      field.fail(fmt::format("{} has the size {}, which no argument gives", owner, name),
                 Code::PS0211);
    });
  };
  for (const Value& value : graph.values) {
    for (const SymExpr& size : value.type.sizes) check("%" + value.name, size);
    for (const SymExpr& stride : value.type.strides) check("%" + value.name, stride);
    check("%" + value.name, value.type.storage_offset);
  }
  for (const Guard& guard : graph.interface.guards) {
    if (!guard.condition) continue;
    check("a condition", guard.condition->left);
    check("a condition", guard.condition->right);
  }
  const std::function<void(const std::string&, const Argument&)> visit =
      [&](const std::string& op, const Argument& argument) {
        if (const auto* size = argument.as<SymExpr>()) check(op, *size);
        if (const auto* list = argument.as<Argument::Sequence>()) {
          for (const Argument& item : list->items) visit(op, item);
        }
      };
  for (const Node& node : graph.nodes) {
    for (const NamedArgument& argument : node.args) visit(node.op, argument.value);
  }
  for (const Graph& subgraph : graph.subgraphs) {
    if (!field.problems().first) check_symbols(subgraph, field);
  }
  const std::function<void(const Recipe&)> returned = [&](const Recipe& recipe) {
    check("a result", recipe.expression);
    for (const Recipe& item : recipe.items) returned(item);
  };
  returned(graph.interface.returns);
}

Result<void> read_program(ReadState& state, const Field& program, Weights& weights,
                          const KeepTensor& keep) {
  Record record(program);
  const Field version_field = record.required("schema_version");
  Record version(version_field);
  const std::int64_t major = version.required("major").integer();
  if (program.problems().first) return {};
  if (major != kSchema) {
    return failure(Code::PS0203, fmt::format("the exported program has schema {}, and schema {} is "
                                             "read (torch 2.11 to 2.15)",
                                             major, kSchema));
  }
  const Field module_field = record.required("graph_module");
  Record module(module_field);
  const Field graph_field = module.required("graph"), signature = module.required("signature");
  Record graph(graph_field);
  Scope scope(graph, state.hints);
  if (program.problems().first) return {};
  if (auto read = read_inputs(state, scope, graph_field, signature, program, weights, keep);
      !read || program.problems().first)
    return read;
  read_nodes(state, scope, graph.required("nodes"));
  if (program.problems().first) return {};
  if (auto read = read_outputs(state, scope, graph_field, signature, program);
      !read || program.problems().first)
    return read;
  inherit_sizes(state.graph);
  check_symbols(state.graph, graph_field);
  return {};
}

Result<formats::GraphDocument> read_model(ArchiveReader& archive, const std::string& root,
                                          const std::string& model, const KeepTensor& keep) {
  auto text = archive.member(fmt::format("{}{}{}.json", root, kModels, model));
  if (!text) return tl::unexpected(std::move(text.error()));
  auto json = parse_limited(text->value_or(""));
  if (!json) return tl::unexpected(std::move(json.error()));
  auto weights = Weights::open(archive, root, model);
  if (!weights) return tl::unexpected(std::move(weights.error()));
  ReadState state;
  state.graph.level = Level::torch;
  formats::Problems problems;
  problems.ignore_unknown = true;  // a newer minor version adds keys
  if (auto read = read_program(state, Field(*json, problems), *weights, keep); !read)
    return tl::unexpected(std::move(read.error()));
  if (problems.first) return tl::unexpected(std::move(*problems.first));
  state.graph.interface.name = name_of(*json);
  formats::GraphDocument document{std::move(state.graph), {}};
  if (auto right = formats::verify_foreign(document); !right)
    return tl::unexpected(std::move(right.error()));
  return document;
}

}  // namespace

Result<CallSignature> read_signature(const Field& program) {
  CallSignature out;
  Record record(program);
  const Field module_field = record.required("graph_module");
  Record module(module_field);
  const Field calls = module.required("module_call_graph");
  std::optional<std::string> in, back;
  calls.each([&](const Field& entry) {
    Record call(entry);
    const auto name = call.optional("fqn");
    const auto signature = call.optional("signature");
    if (!name || !name->text().empty() || !signature || signature->json().is_null()) return;
    Record parts(*signature);
    in = parts.required("in_spec").text();
    back = parts.required("out_spec").text();
    if (const auto names = parts.optional("forward_arg_names"); names && !names->json().is_null())
      out.names = names->texts();
  });
  if (!in || !back) {
    calls.fail("nothing says how the program is called");
    return out;
  }
  auto in_tree = read_tree(*in);
  auto out_tree = read_tree(*back);
  if (!in_tree) return tl::unexpected(std::move(in_tree.error()));
  if (!out_tree) return tl::unexpected(std::move(out_tree.error()));
  out.in = std::move(*in_tree);
  out.out = std::move(*out_tree);
  return out;
}

bool is_pt2(const std::string& path) {
  if (path.empty() || path == "-" || formats::InputFile::is_read_once(path)) return false;
  auto file = formats::InputFile::open(path);
  if (!file || !file->starts_with(formats::kArchiveStart)) return false;
  auto archive = ArchiveReader::open(*file, path);
  return archive ? root_of(**archive).has_value() : path.ends_with(".pt2");
}

Result<formats::GraphDocument> read_pt2(ArchiveReader& archive, const KeepTensor& keep) {
  const auto root = root_of(archive);
  if (!root)
    return failure(Code::PS0201, "the archive is none of torch.export.save", archive.path());
  if (auto right = check_format(archive, *root); !right)
    return tl::unexpected(std::move(right.error()));
  auto model = find_model(archive, *root);
  if (!model) return tl::unexpected(std::move(model.error()));
  auto document = read_model(archive, *root, *model, keep);
  if (document) return document;
  std::string& place = document.error().place;
  if (!place.starts_with(archive.path()))
    place = fmt::format("{}: {}{}.json {}", archive.path(), kModels, *model, place);
  return document;
}

}  // namespace penstock::pt2
