#include "bundle/kernel_bundle.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "formats/seal.h"
#include "store/store.h"

namespace penstock::formats {

namespace {

Json encode_launch(const Launch& launch) {
  return Json{
      {"grid",
       {encode_size(launch.grid_x), encode_size(launch.grid_y), encode_size(launch.grid_z)}},
      {"block", {launch.block_x, launch.block_y}}};
}

Launch decode_launch(const Field& field) {
  Record record(field);
  const std::vector<SymExpr> grid = record.required("grid").sizes();
  const std::vector<std::int32_t> block = record.required("block").integers32();
  if (grid.size() != 3 || block.size() != 2) {
    field.fail("a launch has three numbers of blocks and two of threads");
    return {};
  }
  return {grid[0], grid[1], grid[2], block[0], block[1]};
}

Json encode_step(const KernelCall& call) {
  Json out{{"kind", "kernel"},
           {"name", call.name},
           {"function", call.function},
           {"buffers", call.buffers},
           {"extent", encode_size(call.extent)},
           {"parallel", call.parallel},
           {"grain", call.grain},
           {"calls", call.calls}};
  if (call.scratch_bytes != 0) out["scratch_bytes"] = call.scratch_bytes;
  if (call.flops != SymExpr(0)) out["flops"] = encode_size(call.flops);
  if (call.bytes != SymExpr(0)) out["bytes"] = encode_size(call.bytes);
  if (call.launch) out["launch"] = encode_launch(*call.launch);
  return out;
}

BundleStep decode_step(const Field& field) {
  Record record(field);
  Field kind = record.required("kind");
  std::string name = kind.text();
  if (name == "library") return decode_library_call(record);
  if (name == "fallback") return decode_fallback_call(record);
  if (name != "kernel") kind.fail("a step is a kernel, a library or a fallback");
  KernelCall call;
  call.name = record.required("name").text();
  call.function = record.required("function").text();
  call.buffers = record.required("buffers").integers32();
  call.extent = record.required("extent").size();
  call.parallel = record.flag_or("parallel", false);
  call.grain = record.integer_or("grain", 1);
  call.scratch_bytes = record.integer_or("scratch_bytes", 0);
  call.flops = record.size_or("flops", 0);
  call.bytes = record.size_or("bytes", 0);
  call.calls = record.required("calls").integers32();
  if (auto launch = record.optional("launch")) call.launch = decode_launch(*launch);
  return call;
}

/// The code's blobs stand with all others, and may be left out with them; the hash stays.
Json encode_code(const KernelBundle::Code& code) {
  Json out{{"target", code.target}, {"features", code.features}};
  const std::string& hash = code.hash.empty() ? code.blob : code.hash;
  if (!hash.empty()) out["hash"] = hash;
  if (!code.format.empty()) out["format"] = code.format;
  return out;
}

}  // namespace

static Json encode_steps(const KernelBundle& bundle) {
  Json steps = Json::array();
  for (const BundleStep& step : bundle.steps) {
    steps.push_back(std::visit([](const auto& one) { return encode_step(one); }, step));
  }
  return steps;
}

/// All that the machine code relies on. Sizes, places and orders stand in the code too: it would
/// touch memory outside of a buffer that was edited.
static Json sealed_record(const KernelBundle& bundle) {
  Json types = Json::array();
  for (const Input& input : bundle.interface.inputs) types.push_back(encode_type(input.type));
  return Json{{"inputs", std::move(types)},     {"buffers", encode_buffers(bundle.buffers)},
              {"steps", encode_steps(bundle)},  {"outputs", bundle.outputs},
              {"symbol_order", bundle.symbols}, {"arena_bytes", encode_size(bundle.arena_bytes)}};
}

std::string sealed_text(const KernelBundle& bundle) {
  Json sealed = sealed_record(bundle);
  Json code = Json::array();
  for (const KernelBundle::Code& one : bundle.code) code.push_back(encode_code(one));
  sealed["code"] = std::move(code);
  sealed["abi"] = bundle.abi;
  if (bundle.device != "cpu") sealed["device"] = bundle.device;
  // Which inputs may be written, and where the values of symbols are read.
  const auto source_of = [&](SourceId source) {
    return source == kNoSource ? std::string() : bundle.interface.sources.text(source);
  };
  Json written = Json::array(), inputs = Json::array(), symbols = Json::array();
  for (const Mutation& mutation : bundle.interface.mutations)
    written.push_back({mutation.input, mutation.output});
  for (const Input& input : bundle.interface.inputs)
    inputs.push_back({to_string(input.kind), input.name, source_of(input.source)});
  for (const Symbol& symbol : bundle.interface.symbols) {
    symbols.push_back({symbol.name, symbol.minimum, symbol.maximum, symbol.hint.value_or(-1),
                       source_of(symbol.source)});
  }
  sealed["mutations"] = std::move(written);
  sealed["input_sources"] = std::move(inputs);
  sealed["symbols"] = std::move(symbols);
  return sealed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The seal of format 1.0 does not know the code.
static bool is_seal(const std::string& seal, const KernelBundle& bundle,
                    std::int32_t minor_version) {
  if (minor_version > 0) return seal == store::hash_of(sealed_text(bundle));
  return seal ==
         store::hash_of(sealed_record(bundle).dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// From format 1.1 on every document has one.
static void decode_seal(Record& record, KernelBundle& bundle) {
  const std::int32_t version = record.field().problems().minor_version;
  if (version == 0 && !record.has("seal")) {
    bundle.sealed = false;
    return;
  }
  Field field = record.required("seal");
  const std::string seal = field.text();
  bundle.sealed = version == 0 || seal != kNoSeal;
  if (!bundle.sealed || is_seal(seal, bundle, version)) return;
  field.fail(
      "sizes, buffers, steps or code were edited after the code was made for them: edit level "
      "loops, and run "
      "codegen on it");
}

/// What the blobs record calls the code is what the code's hash says.
static void check_code_blobs(const Field& code, KernelBundle& bundle) {
  for (KernelBundle::Code& one : bundle.code) {
    if (one.hash.empty()) one.hash = one.blob;
    if (!one.blob.empty() && one.blob != one.hash)
      code.fail("the blobs name other code than the hash");
  }
}

void encode_graph(const KernelBundle& bundle, Json& out, Json& blobs) {
  encode_interface(bundle.interface, out);
  for (std::size_t i = 0; i < bundle.outputs.size(); ++i) {
    out["outputs"][i]["buffer"] = bundle.outputs[i];
  }
  out["calls"] = encode_calls(bundle.calls, {});
  out["abi"] = bundle.abi;
  out["target"] = bundle.target;
  out["features"] = bundle.features;
  Json code = Json::array();
  for (const KernelBundle::Code& one : bundle.code) code.push_back(encode_code(one));
  out["code"] = std::move(code);
  out["symbol_order"] = bundle.symbols;
  out["buffers"] = encode_buffers(bundle.buffers);
  out["steps"] = encode_steps(bundle);
  out["arena_bytes"] = encode_size(bundle.arena_bytes);
  if (bundle.device != "cpu") out["device"] = bundle.device;
  out["seal"] = bundle.sealed ? store::hash_of(sealed_text(bundle)) : std::string(kNoSeal);
  encode_blobs(bundle.interface, blobs);
  encode_blobs(bundle.buffers, blobs);
  for (std::size_t i = 0; i < bundle.code.size(); ++i) {
    if (!bundle.code[i].blob.empty()) {
      blobs.push_back(blob_reference("code", i, bundle.code[i].blob));
    }
  }
}

KernelBundle decode_kernels(Record& record) {
  KernelBundle bundle;
  decode_interface(record, bundle.interface);
  decode_inputs(record, bundle.interface, {});
  decode_outputs(record, bundle.interface, [&](Record& output) {
    bundle.outputs.push_back(output.required("buffer").integer32());
  });
  bundle.calls = decode_calls(record.required("calls"), {});
  bundle.abi = record.required("abi").integer32();
  bundle.target = record.required("target").text();
  bundle.features = record.required("features").texts();
  Field code_field = record.required("code");
  code_field.each([&](const Field& item) {
    Record code(item);
    KernelBundle::Code one;
    one.target = code.required("target").text();
    one.features = code.required("features").texts();
    one.hash = code.text_or("hash", "");
    one.format = code.text_or("format", "");
    if (!one.hash.empty() && !store::is_hash(one.hash)) item.fail("'hash' is no hash");
    bundle.code.push_back(std::move(one));
  });
  bundle.symbols = record.required("symbol_order").texts();
  bundle.buffers = decode_buffers(record.required("buffers"));
  record.required("steps").each(
      [&](const Field& item) { bundle.steps.push_back(decode_step(item)); });
  bundle.arena_bytes = record.required("arena_bytes").size();
  bundle.device = record.text_or("device", "cpu");
  decode_blobs(record, bundle.interface,
               [&](std::string_view use, std::size_t index, std::string hash) {
                 if (use != "code") return decode_blob(use, index, hash, bundle.buffers);
                 if (index >= bundle.code.size()) return false;
                 bundle.code[index].blob = std::move(hash);
                 return true;
               });
  decode_seal(record, bundle);
  check_code_blobs(code_field, bundle);
  return bundle;
}

}  // namespace penstock::formats
