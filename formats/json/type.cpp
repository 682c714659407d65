#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "ir/tensor_type.h"

namespace penstock::formats {

Json encode_location(const Location& location) {
  return {{"file", location.file.text()},
          {"line", location.line},
          {"column", location.column},
          {"end_line", location.end_line},
          {"end_column", location.end_column}};
}

Location decode_location(const Field& field) {
  Record record(field);
  Location location;
  location.file = record.required("file").text();
  location.line = record.required("line").integer32();
  location.column = record.integer32_or("column", -1);
  location.end_line = record.integer32_or("end_line", 0);
  location.end_column = record.integer32_or("end_column", -1);
  return location;
}

Json encode_type(const TensorType& type) {
  Json out{{"dtype", facts(type.dtype).name},
           {"sizes", encode_sizes(type.sizes)},
           {"strides", encode_sizes(type.strides)}};
  if (type.storage_offset != SymExpr(0)) out["offset"] = encode_size(type.storage_offset);
  if (type.device != "cpu") out["device"] = type.device;
  if (type.storage != -1) out["storage"] = type.storage;
  if (type.requires_grad) out["requires_grad"] = true;
  return out;
}

TensorType decode_type(const Field& field) {
  Record record(field);
  TensorType type;
  type.dtype = read_name(record.required("dtype"), dtype_from_name, "dtype");
  type.sizes = record.required("sizes").sizes();
  type.strides = record.required("strides").sizes();
  type.storage_offset = record.size_or("offset", 0);
  type.device = record.text_or("device", "cpu");
  type.storage = record.integer32_or("storage", -1);
  type.requires_grad = record.flag_or("requires_grad", false);
  return type;
}

}  // namespace penstock::formats
