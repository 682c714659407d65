#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

Json encode_call(const Call& call, const ValueNames& names) {
  std::vector<const StackFrame*> frames;
  for (const StackFrame* frame = call.stack.get(); frame != nullptr; frame = frame->caller.get())
    frames.push_back(frame);
  Json stack = Json::array();
  for (std::size_t i = frames.size(); i-- > 0;) {  // outermost first
    stack.push_back(Json{{"function", frames[i]->function.text()},
                         {"location", encode_location(frames[i]->location)}});
  }
  Json out{{"opcode", call.opcode},
           {"name", call.name},
           {"target", call.target},
           {"args", encode_arguments(call.args, names)},
           {"kwargs", encode_arguments(call.kwargs, names)},
           {"stack", std::move(stack)},
           {"result", encode_argument(call.result, names)}};
  if (call.checkpoint >= 0) out["checkpoint"] = call.checkpoint;
  return out;
}

Call decode_call(const Field& field, const ValueIds& ids) {
  Record record(field);
  Call call;
  call.opcode = record.required("opcode").text();
  call.name = record.required("name").text();
  call.target = record.required("target").text();
  call.args = decode_arguments(record.required("args"), ids);
  call.kwargs = decode_named_arguments(record.required("kwargs"), ids);
  record.each("stack", [&](const Field& item) {
    Record frame(item);
    std::string function = frame.required("function").text();
    StackFrame innermost{std::move(function), decode_location(frame.required("location")),
                         std::move(call.stack)};
    call.stack = std::make_shared<const StackFrame>(std::move(innermost));
  });
  if (auto result = record.optional("result")) call.result = decode_argument(*result, ids);
  if (auto checkpoint = record.optional("checkpoint")) {
    call.checkpoint = checkpoint->integer32();
    if (call.checkpoint < 0) checkpoint->fail("a checkpoint's number is not negative");
  }
  return call;
}

}  // namespace

Json encode_calls(const std::vector<Call>& calls, const ValueNames& names) {
  Json out = Json::array();
  for (const Call& call : calls) out.push_back(encode_call(call, names));
  return out;
}

std::vector<Call> decode_calls(const Field& field, const ValueIds& ids) {
  std::vector<Call> out;
  field.each([&](const Field& item) { out.push_back(decode_call(item, ids)); });
  return out;
}

}  // namespace penstock::formats
