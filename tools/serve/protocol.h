#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedding/model.h"
#include "embedding/runner.h"
#include "tools/serve/problem.h"

// The bodies of the KServe v2 ("open inference") protocol over HTTP, with Triton's extension for
// binary tensors: https://github.com/kserve/open-inference-protocol and
// https://docs.nvidia.com/deeplearning/triton-inference-server (extension_binary_data).

namespace penstock::serve {

/// The protocol's name of an element type; empty: it has none (complex numbers).
std::string_view datatype_of(DType dtype);
std::optional<DType> dtype_of(std::string_view datatype);

/// A tensor of a request, row-major.
struct RequestTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

/// A result that a request asks for.
struct WantedResult {
  std::string name;
  bool binary = false;
};

struct InferRequest {
  std::string id;
  std::vector<RequestTensor> inputs;
  std::vector<WantedResult> wanted;  ///< empty: all
  bool binary_by_default = false;    ///< for those that are not named
};

/// Reads a request's body; `json_length` is the header Inference-Header-Content-Length, without
/// which the body is JSON alone. 400 for what is no request, or has tensors whose data are not what
/// their shapes and types say.
Answer<InferRequest> read_request(std::string_view body, std::optional<std::size_t> json_length);

struct InferResponse {
  std::string body;
  std::optional<std::size_t> json_length;  ///< tensors stand behind so many bytes of JSON
};

/// Writes the results of the model `name`. 400 where the request asks for a result that there is
/// not, or for elements in JSON that cannot stand there.
Answer<InferResponse> write_response(const std::string& name, const InferRequest& request,
                                     std::span<const embedding::ValueDescription> described,
                                     std::span<const embedding::ResultTensor> results);

/// {"error": TEXT}
std::string error_body(std::string_view text);
/// What GET /v2/models/NAME tells; a size that is no number is -1.
std::string metadata_body(const std::string& name, const embedding::Model& model);
/// What GET /v2/models/NAME/config tells: Triton's, as far as it means something here.
std::string config_body(const std::string& name, const embedding::Model& model,
                        std::int64_t most_rows);
/// What GET /v2 tells.
std::string server_body(std::string_view version);

}  // namespace penstock::serve
