#pragma once

#include <unordered_set>

namespace penstock::record {

/// Writes of what gradients go to that torch does not see, because they are made through a tensor
/// that requires none, as `.data` gives it. Backward takes what torch saved of an op's operands as
/// it stands in memory by then, and the values of a graph as they were: an op and the write that
/// comes behind it are in one graph only if that went backward in between. Memory is told by the
/// address of its storage, which lives as long as what is recorded.
class UnseenWrites {
 public:
  /// An op whose gradients torch records reads the memory.
  void note_read(const void* memory) { read_.insert(memory); }
  /// The graph went backward, and nobody does so again from where it began.
  void go_backward() { read_.clear(); }
  /// The memory is written unseen; false: gradients may be asked for of an op that read it before.
  bool write(const void* memory) { return written_.insert(memory), !read_.contains(memory); }
  bool is_written(const void* memory) const { return written_.contains(memory); }

 private:
  std::unordered_set<const void*> read_, written_;
};

}  // namespace penstock::record
