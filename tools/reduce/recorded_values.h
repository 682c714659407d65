#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/host_tensor.h"
#include "store/store.h"

namespace penstock::tools {

/// The elements, row-major, in memory of their own.
ops::HostTensor row_major(const ops::HostTensor& tensor);

/// Puts a row-major tensor into the store and gives its hash; empty: there is no room.
std::string keep_tensor(const ops::HostTensor& tensor, store::Store& store);

/// What every value of a graph was when it was made, computed by the reference semantics from the
/// recorded inputs. Where those lack, or an op has no reference, the values behind are unknown.
class RecordedValues {
 public:
  /// `store` outlives this.
  RecordedValues(const Graph& graph, store::Store& store);

  /// The hash of the value's data, which is put into the store; empty: unknown, or no room for it.
  std::string blob(ValueId id);

 private:
  store::Store& store_;
  std::vector<std::optional<ops::HostTensor>> values_;
  std::unordered_map<ValueId, std::string> hashes_;
};

}  // namespace penstock::tools
