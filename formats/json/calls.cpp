#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

Json encode_call(const Call& call, const ValueNames& names) {
  Json stack = Json::array();
  for (const StackFrame& frame : call.stack) {
    stack.push_back(Json{{"function", frame.function}, {"location", encode_location(frame.location)}});
  }
  return Json{{"opcode", call.opcode},
              {"name", call.name},
              {"target", call.target},
              {"args", encode_arguments(call.args, names)},
              {"kwargs", encode_arguments(call.kwargs, names)},
              {"stack", std::move(stack)},
              {"result", encode_argument(call.result, names)}};
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
    call.stack.push_back({std::move(function), decode_location(frame.required("location"))});
  });
  if (auto result = record.optional("result")) call.result = decode_argument(*result, ids);
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
