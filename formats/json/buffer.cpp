#include "ir/buffer.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kBufferKinds[] = {"input", "output",  "constant", "temporary",
                                             "view",  "scratch", "prepared"};
static_assert(std::size(kBufferKinds) == static_cast<int>(Buffer::Kind::prepared) + 1);

std::optional<Buffer::Kind> buffer_kind(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kBufferKinds); ++i) {
    if (kBufferKinds[i] == name) return static_cast<Buffer::Kind>(i);
  }
  return std::nullopt;
}

Json encode_buffer(const Buffer& buffer) {
  Json out{{"name", buffer.name},
           {"kind", kBufferKinds[static_cast<int>(buffer.kind)]},
           {"dtype", facts(buffer.dtype).name},
           {"sizes", encode_sizes(buffer.sizes)},
           {"strides", encode_sizes(buffer.strides)}};
  if (buffer.index != -1) out["index"] = buffer.index;
  if (buffer.base != kNoBuffer) out["base"] = buffer.base;
  if (buffer.offset != SymExpr(0)) out["offset"] = encode_size(buffer.offset);
  if (buffer.arena_offset != SymExpr(0)) out["arena_offset"] = encode_size(buffer.arena_offset);
  if (buffer.bytes != SymExpr(0)) out["bytes"] = encode_size(buffer.bytes);
  if (buffer.host) out["host"] = true;
  return out;
}

Buffer decode_buffer(const Field& field) {
  Record record(field);
  Buffer buffer;
  buffer.name = record.required("name").text();
  buffer.kind = read_name(record.required("kind"), buffer_kind, "kind of buffer");
  buffer.dtype = read_name(record.required("dtype"), dtype_from_name, "dtype");
  buffer.sizes = record.required("sizes").sizes();
  buffer.strides = record.required("strides").sizes();
  buffer.index = record.integer32_or("index", -1);
  buffer.base = record.integer32_or("base", kNoBuffer);
  buffer.offset = record.size_or("offset", 0);
  buffer.arena_offset = record.size_or("arena_offset", 0);
  buffer.bytes = record.size_or("bytes", 0);
  buffer.host = record.flag_or("host", false);
  return buffer;
}

Json encode_post_op(const PostOp& post_op) {
  Json out{{"kind", to_string(post_op.kind)}};
  if (post_op.alpha != 0) out["alpha"] = encode_number(post_op.alpha);
  if (post_op.beta != 0) out["beta"] = encode_number(post_op.beta);
  if (post_op.operand != kNoBuffer) out["operand"] = post_op.operand;
  return out;
}

PostOp decode_post_op(const Field& field) {
  Record record(field);
  PostOp post_op{};
  post_op.kind = read_name(record.required("kind"), post_op_from_name, "kind of post-op");
  if (auto alpha = record.optional("alpha")) post_op.alpha = alpha->number();
  if (auto beta = record.optional("beta")) post_op.beta = beta->number();
  post_op.operand = record.integer32_or("operand", kNoBuffer);
  return post_op;
}

}  // namespace

Json encode_buffers(const std::vector<Buffer>& buffers) {
  Json out = Json::array();
  for (const Buffer& buffer : buffers) out.push_back(encode_buffer(buffer));
  return out;
}

std::vector<Buffer> decode_buffers(const Field& field) {
  std::vector<Buffer> out;
  field.each([&](const Field& item) { out.push_back(decode_buffer(item)); });
  return out;
}

void encode_blobs(const std::vector<Buffer>& buffers, Json& out) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].blob.empty()) out.push_back(blob_reference("buffer", i, buffers[i].blob));
  }
}

bool decode_blob(std::string_view use, std::size_t index, std::string& hash,
                 std::vector<Buffer>& buffers) {
  if (use != "buffer" || index >= buffers.size()) return false;
  buffers[index].blob = std::move(hash);
  return true;
}

Json encode_step(const LibraryCall& call) {
  Json post_ops = Json::array();
  for (const PostOp& post_op : call.post_ops) post_ops.push_back(encode_post_op(post_op));
  return Json{{"kind", "library"},
              {"name", call.name},
              {"op", call.op},
              {"inputs", call.inputs},
              {"outputs", call.outputs},
              {"attributes", encode_arguments(call.attributes, {})},
              {"post_ops", std::move(post_ops)},
              {"prepack", call.prepack},
              {"calls", call.calls}};
}

LibraryCall decode_library_call(Record& record) {
  LibraryCall call;
  call.name = record.required("name").text();
  call.op = record.required("op").text();
  call.inputs = record.required("inputs").integers32();
  call.outputs = record.required("outputs").integers32();
  call.attributes = decode_named_arguments(record.required("attributes"), {});
  record.required("post_ops").each([&](const Field& item) {
    call.post_ops.push_back(decode_post_op(item));
  });
  call.prepack = record.required("prepack").integers32();
  call.calls = record.required("calls").integers32();
  return call;
}

Json encode_step(const FallbackCall& call) {
  return Json{{"kind", "fallback"},
              {"op", call.op},
              {"arguments", encode_arguments(call.arguments, {})},
              {"outputs", call.outputs},
              {"calls", call.calls},
              {"reason", call.reason}};
}

FallbackCall decode_fallback_call(Record& record) {
  FallbackCall call;
  call.op = record.required("op").text();
  call.arguments = decode_named_arguments(record.required("arguments"), {});
  call.outputs = record.required("outputs").integers32();
  call.calls = record.required("calls").integers32();
  call.reason = record.required("reason").text();
  return call;
}

}  // namespace penstock::formats
