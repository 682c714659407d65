#include <doctest/doctest.h>

#include <cstring>

#include "tools/serve/batcher.h"
#include "tools/serve/metrics.h"
#include "tools/serve/protocol.h"
#include "tools/serve/routes.h"

using namespace penstock;
using namespace penstock::serve;
using Kind = Route::Kind;

namespace {

template <class T>
std::vector<T> elements(const RequestTensor& tensor) {
  std::vector<T> out(tensor.bytes.size() / sizeof(T));
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

std::string request_of(const std::string& inputs) {
  return "{\"id\": \"7\", \"inputs\": [" + inputs + "]}";
}

/// What is wrong with a request that has one input, of these fields.
std::string wrong_with(const std::string& fields, const std::string& bytes = "") {
  const std::string json = request_of("{\"name\": \"x\", " + fields + "}");
  auto read = read_request(json + bytes, json.size());
  return read ? "" : read.error().status == 400 ? read.error().text : "another status";
}

embedding::ResultTensor tensor_of(const std::vector<float>& data, std::vector<std::int64_t> sizes,
                                  std::vector<std::int64_t> strides) {
  return {data.data(), DType::float32, std::move(sizes), std::move(strides), nullptr};
}

}  // namespace

TEST_CASE("elements are read in one list, and nested") {
  for (const std::string data : {"[1, 2.5, -3, 4]", "[[1, 2.5], [-3, 4]]"}) {
    auto read = read_request(
        request_of(R"({"name": "x", "datatype": "FP32", "shape": [2, 2], "data": )" + data + "}"),
        {});
    REQUIRE(read);
    CHECK(read->id == "7");
    CHECK(elements<float>(read->inputs.at(0)) == std::vector<float>{1, 2.5, -3, 4});
  }
}

TEST_CASE("bytes stand behind the JSON, in the order of the inputs") {
  const std::string json = request_of(
      R"({"name": "x", "datatype": "INT16", "shape": [2], "parameters": {"binary_data_size": 4}},)"
      R"({"name": "y", "datatype": "UINT8", "shape": [1], "data": [5]},)"
      R"({"name": "z", "datatype": "INT8", "shape": [1], "parameters": {"binary_data_size": 1}})");
  auto read = read_request(json + std::string("\x01\x00\x02\x00\x03", 5), json.size());
  REQUIRE(read);
  CHECK(elements<std::int16_t>(read->inputs[0]) == std::vector<std::int16_t>{1, 2});
  CHECK(elements<std::uint8_t>(read->inputs[1]) == std::vector<std::uint8_t>{5});
  CHECK(elements<std::int8_t>(read->inputs[2]) == std::vector<std::int8_t>{3});
}

TEST_CASE("what is no tensor is told") {
  CHECK(wrong_with(R"("datatype": "FP32", "shape": [2], "data": [1])").find("1 elements") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "FP32", "shape": [1], "data": [1, 2])").find("more elements") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "UINT8", "shape": [1], "data": [256])").find("no UINT8") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "INT64", "shape": [1], "data": [9223372036854775808])")
            .find("no INT64") != std::string::npos);
  CHECK(wrong_with(R"("datatype": "INT8", "shape": [1], "data": [1.5])").find("no INT8") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "BOOL", "shape": [1], "data": [2])").find("no BOOL") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "BF16", "shape": [1], "data": [1])").find("as bytes") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "BYTES", "shape": [1], "data": ["a"])").find("BYTES") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "FP32", "shape": [-1], "data": [])").find("no size") !=
        std::string::npos);
  CHECK(wrong_with(R"("datatype": "FP64", "shape": [2000000000, 2000000000, 8], "data": [])")
            .find("too many") != std::string::npos);
  const std::string two =
      R"("datatype": "INT8", "shape": [2], "parameters": {"binary_data_size": )";
  CHECK(wrong_with(two + "3}", "abc").find("not that of the shape") != std::string::npos);
  CHECK(wrong_with(two + "2}", "a").find("ends before") != std::string::npos);
  CHECK(wrong_with(two + "2}", "abc").find("behind the last input") != std::string::npos);
  CHECK(wrong_with(two + "2}", "ab").empty());
}

TEST_CASE("what is no request is told") {
  for (const std::string body : {"", "{", "[]", "{\"inputs\": 3}", "{\"inputs\": [3]}", "{}"})
    CHECK_FALSE(read_request(body, {}));
  CHECK_FALSE(read_request("{}", 3));
  CHECK_FALSE(read_request(std::string(1'000'000, '['), {}));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK_FALSE(read_request(
      request_of(R"({"name": "x", "datatype": "FP32", "shape": [1], "data": )" + deep + "}"), {}));
}

TEST_CASE("a response has what is asked for, row-major") {
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  const std::vector<embedding::ResultTensor> results{tensor_of(data, {2, 3}, {1, 2}),
                                                     tensor_of(data, {1}, {1})};
  const std::vector<embedding::ValueDescription> described{{"a", DType::float32, {}, false},
                                                           {"b", DType::float32, {}, false}};
  InferRequest request;
  auto all = write_response("m", request, described, results);
  REQUIRE(all);
  CHECK(all->body ==
        R"({"model_name":"m","model_version":"1","outputs":[{"name":"a","datatype":"FP32",)"
        R"("shape":[2,3],"data":[1.0,3.0,5.0,2.0,4.0,6.0]},{"name":"b","datatype":"FP32",)"
        R"("shape":[1],"data":[1.0]}]})");
  CHECK_FALSE(all->json_length);
  request.wanted = {{"b", true}};
  auto one = write_response("m", request, described, results);
  REQUIRE(one);
  REQUIRE(one->json_length);
  CHECK(one->body.size() == *one->json_length + sizeof(float));
  request.wanted = {{"c", true}};
  CHECK_FALSE(write_response("m", request, described, results));
}

TEST_CASE("paths are those of the protocol") {
  CHECK(route_of("/v2").kind == Kind::server);
  CHECK(route_of("/v2/").kind == Kind::server);
  CHECK(route_of("/v2/models/a%20b/infer?x=1").model == "a b");
  CHECK(route_of("/v2/models/m/versions/1/infer").kind == Kind::infer);
  CHECK(route_of("/v2/models/m/versions/2/infer").kind == Kind::none);
  CHECK(route_of("/v2/models/m").kind == Kind::metadata);
  CHECK(route_of("/v2/models/m/config").kind == Kind::config);
  CHECK(route_of("/metrics").kind == Kind::metrics);
  for (const std::string path : {"", "v2", "/", "/v2/models", "/v2/models/m/none",
                                 "/v2/models/m/ready/x", "//v2", "/v2/models/%zz/none"})
    CHECK(route_of(path).kind == Kind::none);
}

TEST_CASE("calls are joined along a size that is the first of all and in no other") {
  const SymExpr rows = SymExpr::symbol("rows");
  const auto bundle = [&](std::vector<SymExpr> input, std::vector<SymExpr> output) {
    KernelBundle made;
    made.interface.inputs.resize(1);
    made.interface.inputs[0].type.sizes = std::move(input);
    made.interface.outputs.resize(1);
    made.interface.outputs[0].type.sizes = std::move(output);
    return made;
  };
  CHECK(batched_symbol(bundle({rows, 4}, {rows, 2})) == "rows");
  CHECK(batched_symbol(bundle({rows, 4}, {2})).empty());
  CHECK(batched_symbol(bundle({rows, 4}, {rows, rows})).empty());
  CHECK(batched_symbol(bundle({rows, rows * 2}, {rows})).empty());
  CHECK(batched_symbol(bundle({4}, {4})).empty());
  CHECK(batched_symbol(bundle({rows * 2}, {rows * 2})).empty());
  KernelBundle writes = bundle({rows}, {rows});
  writes.interface.mutations = {{0, 0}};
  CHECK(batched_symbol(writes).empty());
}

TEST_CASE("figures add up") {
  ModelMetrics metrics;
  metrics.answered(200, std::chrono::milliseconds(3));
  metrics.answered(429, std::chrono::seconds(20));
  metrics.ran(2, 5, std::chrono::milliseconds(2), std::chrono::milliseconds(1));
  const std::string text = metrics.text("m");
  for (const std::string line : {"penstock_requests_total{model=\"m\",status=\"429\"} 1\n",
                                 "penstock_request_seconds_bucket{model=\"m\",le=\"0.0025\"} 0\n",
                                 "penstock_request_seconds_bucket{model=\"m\",le=\"0.005\"} 1\n",
                                 "penstock_request_seconds_bucket{model=\"m\",le=\"10\"} 1\n",
                                 "penstock_request_seconds_bucket{model=\"m\",le=\"+Inf\"} 2\n",
                                 "penstock_run_rows_total{model=\"m\"} 5\n"})
    CHECK(text.find(line) != std::string::npos);
}
