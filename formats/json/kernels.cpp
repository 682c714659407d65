#include "bundle/kernel_bundle.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "store/store.h"

namespace penstock::formats {

namespace {

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
  return call;
}

/// The code's blobs stand with all others.
Json encode_code(const KernelBundle::Code& code) {
  return Json{{"target", code.target}, {"features", code.features}};
}

}  // namespace

static Json encode_steps(const KernelBundle& bundle) {
  Json steps = Json::array();
  for (const BundleStep& step : bundle.steps) {
    steps.push_back(std::visit([](const auto& one) { return encode_step(one); }, step));
  }
  return steps;
}

/// A hash of all that the machine code relies on. Sizes, places and orders stand in the code too: it
/// would touch memory outside of a buffer that was edited.
static std::string seal_of(const KernelBundle& bundle) {
  Json types = Json::array();
  for (const Input& input : bundle.interface.inputs) types.push_back(encode_type(input.type));
  const Json sealed{{"inputs", std::move(types)},
                    {"buffers", encode_buffers(bundle.buffers)},
                    {"steps", encode_steps(bundle)},
                    {"outputs", bundle.outputs},
                    {"symbol_order", bundle.symbols},
                    {"arena_bytes", encode_size(bundle.arena_bytes)}};
  return store::hash_of(sealed.dump());
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
  out["seal"] = seal_of(bundle);
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
  record.required("code").each([&](const Field& item) {
    Record code(item);
    KernelBundle::Code one;
    one.target = code.required("target").text();
    one.features = code.required("features").texts();
    bundle.code.push_back(std::move(one));
  });
  bundle.symbols = record.required("symbol_order").texts();
  bundle.buffers = decode_buffers(record.required("buffers"));
  record.required("steps").each(
      [&](const Field& item) { bundle.steps.push_back(decode_step(item)); });
  bundle.arena_bytes = record.required("arena_bytes").size();
  if (auto seal = record.optional("seal"); seal && seal->text() != seal_of(bundle)) {
    seal->fail("sizes, buffers or steps were edited after the code was made for them: edit level "
               "loops, and run codegen on it");
  }
  decode_blobs(record, bundle.interface,
               [&](std::string_view use, std::size_t index, std::string hash) {
                 if (use != "code") return decode_blob(use, index, hash, bundle.buffers);
                 if (index >= bundle.code.size()) return false;
                 bundle.code[index].blob = std::move(hash);
                 return true;
               });
  return bundle;
}

}  // namespace penstock::formats
