// Memory plan
//
// Temporaries live from the step that first writes them to the last one that reads them. A sweep
// over the steps places each one when its life begins and frees its place when it ends, so places
// overlap only for temporaries that never live together. A place is the smallest free block that it
// fits in (best fit); free neighbours merge; the arena grows at its end. With n temporaries that is
// n log n.
//
// Before looking for a block, a temporary takes over the place of one that dies in the same step,
// if the kernel reads each of its elements just before writing the same element (equal index in one
// body): a chain of pointwise kernels stays in one place, warm in the cache.
//
// Sizes that are symbolic are not comparable: such places stand behind all others, one after the
// other, and are used again only for temporaries of the very same size. Where elements decide a
// size as the program runs (ir/decided_sizes.h), the temporaries that need it lie in an arena of
// their own, which is taken then.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/decided_sizes.h"

namespace penstock::fusion {

namespace {

constexpr std::int64_t kAlignment = 64;

SymExpr aligned(const SymExpr& bytes) {
  return floordiv(bytes + (kAlignment - 1), kAlignment) * SymExpr(kAlignment);
}

/// Blocks of constant size.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = by_size_.lower_bound({bytes, 0});
    if (best != by_size_.end()) {
      auto [size, start] = *best;
      remove(start, size);
      if (size > bytes) insert(start + bytes, size - bytes);
      return start;
    }
    // Nothing fits: grow the last block if it is free, else append.
    auto last = by_start_.empty() ? by_start_.end() : std::prev(by_start_.end());
    std::int64_t start = end_;
    if (last != by_start_.end() && last->first + last->second == end_) {
      start = last->first;
      remove(last->first, last->second);
    }
    end_ = start + bytes;
    return start;
  }

  void give(std::int64_t start, std::int64_t bytes) {
    auto next = by_start_.lower_bound(start);
    if (next != by_start_.end() && start + bytes == next->first) {
      auto [next_start, size] = *next;
      remove(next_start, size);
      bytes += size;
    }
    auto before = by_start_.lower_bound(start);
    if (before != by_start_.begin()) {
      auto [before_start, size] = *std::prev(before);
      if (before_start + size == start) {
        remove(before_start, size);
        start = before_start;
        bytes += size;
      }
    }
    insert(start, bytes);
  }

  std::int64_t end() const { return end_; }

 private:
  void insert(std::int64_t start, std::int64_t size) {
    by_start_.emplace(start, size);
    by_size_.emplace(size, start);
  }
  void remove(std::int64_t start, std::int64_t size) {
    by_start_.erase(start);
    by_size_.erase({size, start});
  }

  std::map<std::int64_t, std::int64_t> by_start_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

class Planner {
 public:
  explicit Planner(LoopProgram& program)
      : program_(program), decided_(program.steps), ends_(decided_.all().size() + 1, SymExpr(0)) {}

  void run() {
    std::vector<StepUses> uses;
    for (const ProgramStep& step : program_.steps) uses.push_back(uses_of(program_, step));
    last_ = last_uses(program_, uses);
    for (BufferId id : program_.outputs) {
      const Buffer& buffer = program_.buffers[id];
      last_[buffer.kind == Buffer::Kind::view ? buffer.base : id] = static_cast<int>(uses.size());
    }
    ending_.resize(uses.size() + 1);
    for (std::size_t id = 0; id < last_.size(); ++id) {
      if (last_[id] >= 0 && is_temporary(static_cast<BufferId>(id)))
        ending_[static_cast<std::size_t>(last_[id])].push_back(static_cast<BufferId>(id));
    }
    for (std::size_t s = 0; s < uses.size(); ++s) step(static_cast<int>(s), uses[s]);
    for (const auto& [id, offset] : symbolic_) {
      const bool first = arena_of(id) == 0;
      program_.buffers[id].arena_offset = first ? SymExpr(arena_.end()) + offset : offset;
    }
    program_.arena_bytes = SymExpr(arena_.end()) + ends_.front();
    for (std::size_t i = 0; i < decided_.all().size(); ++i) {
      auto& call = std::get<LibraryCall>(program_.steps[decided_.all()[i].step]);
      std::ranges::find(call.attributes, "memory", &NamedArgument::name)->value =
          ends_[i + 1].is_constant() ? Argument(*ends_[i + 1].constant()) : Argument(ends_[i + 1]);
    }
  }

 private:
  /// The arena of a temporary of symbolic size: the first, or that of the size which elements
  /// decide last.
  std::size_t arena_of(BufferId id) const {
    return static_cast<std::size_t>(decided_.decided_by(program_.buffers, id) + 1);
  }

  bool is_temporary(BufferId id) const {
    return program_.buffers[id].kind == Buffer::Kind::temporary;
  }

  void step(int number, const StepUses& uses) {
    std::set<BufferId> dying;
    for (BufferId id : uses.reads) {
      if (is_temporary(id) && placed_.contains(id) && last_[id] == number) dying.insert(id);
    }
    for (BufferId id : uses.writes) {
      if (!is_temporary(id) || placed_.contains(id)) continue;
      placed_.insert(id);
      if (!take_over(number, id, dying)) place(id);
    }
    for (BufferId id : ending_[static_cast<std::size_t>(number)]) {
      if (placed_.contains(id) && !taken_over_.contains(id)) release(id);
    }
  }

  bool take_over(int number, BufferId id, std::set<BufferId>& dying) {
    const auto* kernel = std::get_if<LoopKernel>(&program_.steps[number]);
    if (kernel == nullptr) return false;
    Buffer& buffer = program_.buffers[id];
    for (BufferId from : dying) {
      const Buffer& other = program_.buffers[from];
      bool same =
          other.bytes == buffer.bytes && facts(other.dtype).size == facts(buffer.dtype).size;
      if (!same || !reads_then_writes(kernel->body, from, id)) continue;
      buffer.arena_offset = other.arena_offset;
      if (auto symbolic = symbolic_.find(from); symbolic != symbolic_.end()) {
        symbolic_.emplace(id, symbolic->second);
      }
      dying.erase(from);
      taken_over_.insert(from);
      return true;
    }
    return false;
  }

  void place(BufferId id) {
    Buffer& buffer = program_.buffers[id];
    SymExpr bytes = aligned(buffer.bytes);
    if (auto constant = bytes.constant()) {
      buffer.arena_offset = arena_.take(std::max<std::int64_t>(*constant, kAlignment));
      return;
    }
    auto& free = free_symbolic_[bytes.to_string()];
    if (free.empty()) {
      SymExpr& end = ends_[arena_of(id)];
      free.push_back(end);
      end += bytes;
    }
    symbolic_.emplace(id, free.back());
    free.pop_back();
  }

  void release(BufferId id) {
    const Buffer& buffer = program_.buffers[id];
    SymExpr bytes = aligned(buffer.bytes);
    if (auto constant = bytes.constant()) {
      arena_.give(*buffer.arena_offset.constant(), std::max<std::int64_t>(*constant, kAlignment));
    } else {
      free_symbolic_[bytes.to_string()].push_back(symbolic_.at(id));
    }
  }

  LoopProgram& program_;
  DecidedSizes decided_;
  std::vector<int> last_;                      ///< step that uses the buffer last
  std::vector<std::vector<BufferId>> ending_;  ///< by step: what it uses last
  std::set<BufferId> placed_, taken_over_;
  Arena arena_;
  std::map<BufferId, SymExpr> symbolic_;  ///< offsets behind the constant part
  std::map<std::string, std::vector<SymExpr>> free_symbolic_;
  std::vector<SymExpr> ends_;  ///< of places of symbolic size, by arena
};

}  // namespace

void plan_memory(LoopProgram& program) {
  drop_unused_buffers(program);
  Planner(program).run();
}

}  // namespace penstock::fusion
