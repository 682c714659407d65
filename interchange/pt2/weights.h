#pragma once

#include <functional>
#include <map>
#include <string>

#include "formats/archive.h"
#include "formats/safetensors.h"
#include "ir/tensor_type.h"

namespace penstock::pt2 {

/// Keeps a tensor and returns its hash: formats::put_tensor into a store.
using KeepTensor = std::function<Result<std::string>(const formats::TensorBytes&)>;

/// A tensor of the archive.
struct Weight {
  TensorType type;            ///< numbers only
  std::string blob;           ///< its hash
  std::int32_t storage = -1;  ///< the same number for those that share memory; -1: alone
};

/// The tensors that a program brings along: data/weights and data/constants of an archive, stored
/// as raw memory. What is pickled is refused by its name: reading it would run it.
class Weights {
 public:
  /// Reads what there is of them. `root` is the archive's folder, `model` the program's name.
  static Result<Weights> open(formats::ArchiveReader& archive, const std::string& root,
                              const std::string& model);
  /// The tensor `name` of the program, which goes to `keep`. PS0201 where it is not there or its
  /// memory is too small, PS0211 where it is pickled.
  Result<Weight> take(const std::string& name, const KeepTensor& keep);

 private:
  /// A piece of memory in the archive, where the tensors of a group lie.
  struct Memory {
    int left = 0;  ///< tensors that are still to be taken of it
    int tensors = 0;
    std::optional<std::string> bytes;
    std::int32_t number = -1;
  };
  struct Entry {
    TensorType type;
    std::string member;  ///< of the archive
    bool pickled = false;
  };

  Result<void> read_config(const std::string& folder, const std::string& model);

  formats::ArchiveReader* archive_ = nullptr;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Memory> memories_;
  std::int32_t next_ = 0;
};

}  // namespace penstock::pt2
