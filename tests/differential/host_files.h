#pragma once

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "formats/stream.h"
#include "ir/tensor_type.h"
#include "ops/host_tensor.h"

namespace penstock::differential {

/// Tensors that a test wrote: for each the length (8 bytes, little-endian) and the bytes of its
/// storage.
class InputFile {
 public:
  explicit InputFile(const char* path) : stream_(path, std::ios::binary) {}

  ops::HostTensor read(const TensorType& type) {
    std::uint64_t length = 0;
    stream_.read(reinterpret_cast<char*>(&length), sizeof length);
    ops::HostTensor tensor;
    tensor.dtype = type.dtype;
    for (const SymExpr& size : type.sizes) tensor.sizes.push_back(*size.constant());
    for (const SymExpr& stride : type.strides) tensor.strides.push_back(*stride.constant());
    tensor.offset = *type.storage_offset.constant();
    tensor.memory = std::make_shared<std::vector<std::byte>>(length);
    stream_.read(reinterpret_cast<char*>(tensor.memory->data()),
                 static_cast<std::streamsize>(length));
    return tensor;
  }

 private:
  std::ifstream stream_;
};

/// What a test reads: bytes that say what follows, texts and dense row-major tensors, each a length
/// and its bytes.
class AnswerFile {
 public:
  explicit AnswerFile(const char* path) : stream_(path, std::ios::binary) {}

  void put(int byte) { stream_.put(static_cast<char>(byte)); }
  /// The byte 0 and the message.
  void failed(const Diagnostic& error) {
    put(0);
    write(error.message.data(), error.message.size());
  }
  void write(const ops::HostTensor& tensor) {
    ops::HostTensor dense = ops::HostTensor::contiguous(tensor.dtype, tensor.sizes);
    if (is_floating(tensor.dtype))
      dense.assign(tensor.reals());
    else
      dense.assign(tensor.integers());
    write(dense.memory->data(), dense.memory->size());
  }

 private:
  void write(const void* bytes, std::uint64_t length) {
    stream_.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(length));
  }
  std::ofstream stream_;
};

/// A differential test's program, GRAPHS INPUTS ANSWERS: gives each graph of level torch of the
/// stream GRAPHS to `answer`, with the other two files. The exit status.
template <typename Answer>
int answer_graphs(int argc, char** argv, const Answer& answer) {
  if (argc != 4) return 2;
  auto source = formats::open_source(argv[1]);
  if (!source) return 6;
  formats::DocumentReader reader(*source, argv[1]);
  InputFile inputs(argv[2]);
  AnswerFile answers(argv[3]);
  while (true) {
    auto document = reader.next();
    if (!document) {
      std::cerr << document.error().message << ' ' << document.error().place << '\n';
      return 3;
    }
    if (!*document) return 0;
    if (const auto* graph = std::get_if<formats::GraphDocument>(&**document))
      answer(std::get<Graph>(graph->graph), inputs, answers);
  }
}

}  // namespace penstock::differential
