// Inputs that are no records: packed files, tensors, rule files, sizes, sources and requests.
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "embedding/tensor_copy.h"
#include "formats/pack.h"
#include "formats/safetensors.h"
#include "ir/call_rules.h"
#include "ir/guard.h"
#include "ir/size_facts.h"
#include "ir/source.h"
#include "reader.h"
#include "tools/serve/protocol.h"

namespace penstock::fuzz {

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string folder() {
  return std::getenv("PENSTOCK_FUZZ_FOLDER");
}

/// A tensor file with a header that a blob may have.
std::string tensor_file() {
  static const std::string numbers(24, '\1');
  return formats::encode_safetensors(
      {{"weight", DType::float32, {2, 3}, numbers},
       {"mask", DType::bool_, {3}, std::string_view(numbers).substr(0, 3)},
       {"empty", DType::int64, {0, 4}, {}}});
}

/// A packed file of the seeds' first stream and two blobs.
std::string packed_file() {
  const std::string path = folder() + "/seed.zip";
  store::Store store(folder() + "/seeds");
  auto blob = store.put(tensor_file());
  formats::EndDocument end;
  std::vector<formats::Document> documents;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_FUZZ_SEEDS)) {
    auto reader = formats::open_documents(entry.path().string());
    auto read = reader ? formats::read_all(*reader) : tl::unexpected(reader.error());
    if (!read) continue;
    documents = std::move(*read);
    break;
  }
  for (formats::Document& document : documents) {
    auto* graph = std::get_if<formats::GraphDocument>(&document);
    if (graph == nullptr) continue;
    Interface& interface = formats::interface_of(*graph);
    for (Input& input : interface.inputs) input.blob = blob ? *blob : "";
    for (Output& output : interface.outputs) output.blob.clear();
  }
  static_cast<void>(formats::write_pack(path, documents, store));
  return bytes_of(path);
}

}  // namespace

std::string damage_pack(Mutator& mutator) {
  static const std::string seed = packed_file();
  return mutator.edit_text(seed,
                           {"PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "documents.json", "blobs/"});
}

Outcome run_pack(const std::string& bytes) {
  Outcome outcome;
  const std::string path = folder() + "/damaged.zip";
  std::ofstream(path, std::ios::binary) << bytes;
  std::filesystem::remove_all(folder() + "/pack-store");
  if (!formats::is_pack(path)) return outcome;
  auto reader = formats::open_documents(path, folder() + "/pack-store");
  if (!reader) {
    outcome.note("open", reader.error());
    return outcome;
  }
  auto documents = formats::read_all(*reader);
  outcome.accepted = documents.has_value();
  if (!documents) {
    outcome.note("read", documents.error());
    return outcome;
  }
  store::Store store(folder() + "/pack-store");
  for (const formats::Document& document : *documents) {
    const auto* graph = std::get_if<formats::GraphDocument>(&document);
    if (graph == nullptr) continue;
    for (const std::string& hash : formats::blobs_of(*graph)) {
      auto tensor = formats::get_tensor(store, hash);
      if (!tensor) outcome.note("blob", tensor.error());
    }
  }
  return outcome;
}

std::string damage_tensors(Mutator& mutator) {
  std::string bytes = tensor_file();
  if (mutator.below(3) == 0)
    return mutator.edit_text(bytes, {"\"", "{", "[", "-1", "9223372036854775807", "F32", "BOOL"});
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  Json header = Json::parse(bytes.substr(8, length));
  mutator.edit(header);
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(text.size() >> (8 * i));
  return out + text + bytes.substr(8 + length);
}

Outcome run_tensors(const std::string& bytes) {
  Outcome outcome;
  auto tensors = formats::decode_safetensors(bytes);
  outcome.accepted = tensors.has_value();
  if (!tensors) {
    outcome.note("read", tensors.error());
    return outcome;
  }
  std::size_t sum = 0;
  for (const formats::TensorBytes& tensor : *tensors) {
    for (char byte : tensor.bytes) sum += static_cast<unsigned char>(byte);
    std::int64_t count = 1;
    for (std::int64_t size : tensor.sizes) count *= size;
    const bool fits =
        static_cast<std::int64_t>(tensor.bytes.size()) == count * facts(tensor.dtype).size;
    if (!fits)
      outcome.note(
          "read",
          {Code::PS0601, "a tensor has not the bytes of its sizes", {}, {}, {}, Severity::error});
  }
  static_cast<void>(sum);
  return outcome;
}

std::string damage_rules(Mutator& mutator) {
  static const std::string seed = bytes_of(PENSTOCK_RULES);
  const std::size_t start = mutator.below(seed.size());
  return mutator.edit_text(seed.substr(start, 400), {"*", ":", "#", ".", "outside ",
                                                     "breaks PS0301 ", "serve ", "\n", "NAME"});
}

Outcome run_rules(const std::string& bytes) {
  Outcome outcome;
  CallRules rules;
  auto added = rules.add(bytes, "damaged.rules", false);
  outcome.accepted = added.has_value();
  if (!added) outcome.note("read", added.error());
  const std::string names[] = {"torch.nn.functional.relu", "", ".", "builtins.print"};
  for (const CallRule& rule : rules.all()) static_cast<void>(rule.text() + rule.reason_for("f"));
  static_cast<void>(rules.find(names, CallableKind::python));
  return outcome;
}

std::string damage_size(Mutator& mutator) {
  static constexpr std::string_view kSeeds[] = {"2*s0+1",
                                                "floordiv(s1, 8)",
                                                "s0*s1-3",
                                                "min(s0, max(s1, 4)) % 7",
                                                "mod(floordiv(s0+3, 4), s1)",
                                                "(s0+s1)*(s0-s1)",
                                                "-s0//2"};
  const std::string seed(kSeeds[mutator.below(std::size(kSeeds))]);
  return mutator.edit_text(seed, {"s0",
                                  "s1",
                                  "*",
                                  "+",
                                  "-",
                                  "//",
                                  "%",
                                  "(",
                                  ")",
                                  "floordiv(",
                                  "mod(",
                                  "min(",
                                  ", ",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "0",
                                  "1",
                                  " <= ",
                                  " == ",
                                  "-1"});
}

Outcome run_size(const std::string& bytes) {
  Outcome outcome;
  auto condition = parse_condition(bytes);
  if (condition) static_cast<void>(to_string(negation(*condition)));
  auto parsed = parse_sym_expr(bytes);
  outcome.accepted = parsed.has_value();
  if (!parsed) {
    outcome.note("read", parsed.error());
    return outcome;
  }
  auto again = parse_sym_expr(parsed->to_string());
  if (!again) {
    outcome.note(
        "write",
        {Code::PS0601, "a size is not read as it was written", {}, {}, {}, Severity::error});
    return outcome;
  }
  for (std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
    static_cast<void>(parsed->evaluate([&](std::string_view) { return std::optional(number); }));
  }
  RangeFacts facts;
  facts.set("s0", {SymExpr(2), SymExpr(64)});
  facts.set("s1", {SymExpr(0), std::nullopt});
  static_cast<void>(bounds(*parsed, facts));
  static_cast<void>(prove_less(*parsed, SymExpr::symbol("s0"), facts));
  static_cast<void>(floordiv(*parsed, 3));
  static_cast<void>(mod(*parsed, SymExpr::symbol("s1")));
  return outcome;
}

std::string damage_source(Mutator& mutator) {
  static constexpr std::string_view kSeeds[] = {"L['self']._modules['fc'].weight",
                                                "(L['rate'] / (1 - L['beta']))", "G['np'].x[0][-1]",
                                                "len(L['x'].shape)", "L['x'].size()[1]"};
  const std::string seed(kSeeds[mutator.below(std::size(kSeeds))]);
  return mutator.edit_text(seed, {"L['", "']", ".", "[", "]", "(", ")", "-", "1e999", "len(", "\\",
                                  "'", "\"", " ** ", "min("});
}

Outcome run_source(const std::string& bytes) {
  Outcome outcome;
  SourceTable table;
  auto parsed = parse_source(bytes, table);
  outcome.accepted = parsed.has_value();
  if (!parsed) {
    outcome.note("read", parsed.error());
    return outcome;
  }
  SourceTable other;
  if (!parse_source(table.text(*parsed), other)) {
    outcome.note(
        "write",
        {Code::PS0601, "a source is not read as it was written", {}, {}, {}, Severity::error});
  }
  return outcome;
}

/// The body of a request to `penstock serve`, and how much of it is JSON: what stands in front of
/// the first line's end, where that is a number.
std::string damage_request(Mutator& mutator) {
  static constexpr std::string_view kSeeds[] = {
      R"({"id": "1", "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [[1, 2.5], [-3, 4e9]]}]})",
      R"({"inputs": [{"name": "x", "datatype": "INT16", "shape": [2], "parameters": {"binary_data_size": 4}}], "outputs": [{"name": "y", "parameters": {"binary_data": true}}]})",
      R"({"inputs": [{"name": "b", "datatype": "BOOL", "shape": [], "data": [true]}], "parameters": {"binary_data_output": true}})"};
  const std::string_view seed = kSeeds[mutator.below(std::size(kSeeds))];
  const std::string edited =
      mutator.edit_text(std::string(seed), {"[", "]", "{", "}", "-1", "1e999", "null", "\"shape\"",
                                            "9223372036854775808", "\"BF16\"", "\"UINT8\"", ","});
  const std::size_t length = mutator.below(4) == 0 ? mutator.below(300) : edited.size();
  return std::to_string(length) + "\n" + edited + std::string(mutator.below(6), '\1');
}

Outcome run_request(const std::string& bytes) {
  Outcome outcome;
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  std::size_t length = 0;
  const auto [end, wrong] = std::from_chars(bytes.data(), bytes.data() + line, length);
  const bool has_length = wrong == std::errc() && end == bytes.data() + line;
  const auto body = std::string_view(bytes).substr(std::min(line + 1, bytes.size()));
  auto request = serve::read_request(body, has_length ? std::optional(length) : std::nullopt);
  outcome.accepted = request.has_value();
  if (!request) return outcome;
  std::vector<embedding::ResultTensor> results;
  std::vector<embedding::ValueDescription> described;
  for (const serve::RequestTensor& input : request->inputs) {
    described.push_back({input.name, input.dtype, {}, false});
    results.push_back({input.bytes.data(), input.dtype, input.sizes,
                       embedding::row_major_strides(input.sizes), nullptr});
  }
  static_cast<void>(serve::write_response("m", *request, described, results));
  return outcome;
}

}  // namespace penstock::fuzz
