#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "runtime/device.h"
#include "runtime/lent_memory.h"

namespace penstock::runtime {

struct Plan;

/// A plan's run as one graph of the bundle's device, and what it takes.
///
/// Our kernels are given the addresses of each call. torch's ops, and the device's library, which
/// is meant with them below, keep those that they were recorded with: an input that one of them
/// reads must be where it was, or is copied in front to a place of the graph's own; an output that
/// one of them makes or reads is copied behind to where it goes. What is not copied is waited for
/// where it is elsewhere, before a graph is recorded anew.
///
/// Of a step of training both parts make much that somebody has only until the step is over: what
/// the other part reads, and gradients. Their graphs *lend* it: such outputs stay where the graph
/// makes them, and the graph is not launched again before all of them have come back. For the calls
/// in between there is a second one, which copies.
class PlanGraph {
 public:
  struct ReadByTorch {
    std::int32_t input = 0;
    bool stays = false;  ///< it is written, a weight or lent: a copy would not do, or not pay
    bool copied = false;
    const void* address = nullptr;  ///< when it was recorded, or in the run before
    std::size_t bytes = 0;
  };
  /// An output that torch's ops make or read.
  struct OfTorch {
    BufferId buffer = kNoBuffer;
    std::size_t bytes = 0;
    bool lent = false;  ///< by the graph that lends
  };
  struct Kernel {
    std::int32_t step = 0;
    std::vector<std::uint64_t> words;  ///< the pointers, or elements, that it has
  };

  /// A graph, and the memory that it works on.
  struct Recorded {
    std::unique_ptr<DeviceGraph> graph;  ///< null: not recorded yet, or of other addresses
    std::vector<void*> memories;         ///< by buffer
    std::vector<Kernel> kernels;         ///< in the order in which they are started
    std::vector<void*> places;           ///< of copied inputs, by ReadByTorch
    bool lends = false;
    std::vector<std::shared_ptr<LentMemory>> lent;  ///< by output; null: it is not lent

    const std::shared_ptr<LentMemory>* lent_for(std::int32_t output) const {
      const auto at = static_cast<std::size_t>(output);
      return at < lent.size() && lent[at] != nullptr ? &lent[at] : nullptr;
    }
    bool is_out() const;
  };

  /// Whether a graph can be, but for what turns out when it is recorded. Launching one takes less
  /// of the CPU's time than launching a single kernel.
  /// Outputs from `lent_from` on may be lent.
  bool is_possible(const KernelBundle& bundle, const Plan& plan, std::size_t lent_from);
  /// It cannot be after all.
  void give_up() { *this = PlanGraph(State::impossible); }
  /// Whether kernels find the memory where it was when they were recorded.
  bool stays(const KernelBundle& bundle, BufferId memory) const;
  bool calls_torch() const { return torch_calls_ > 0; }
  /// What to launch in the next run, or to record before where it has no graph: what torch's ops
  /// read is at `addresses`, by input, and FallbackRunner::settings() gives `settings`. Null:
  /// neither, yet or any more.
  Recorded* next(std::span<void* const> addresses, std::uint64_t settings);

  std::vector<ReadByTorch> inputs;
  std::vector<OfTorch> outputs;

  PlanGraph() = default;

 private:
  enum class State : std::uint8_t { unknown, possible, impossible };
  explicit PlanGraph(State state) : state_(state) {}
  State decide(const KernelBundle& bundle, const Plan& plan, std::size_t lent_from);
  bool note_call(const BundleStep& step, const KernelBundle& bundle, const Plan& plan);
  void note_input(const KernelBundle& bundle, const Plan& plan, BufferId memory, bool written);
  void note_output(const Plan& plan, BufferId memory);
  bool is_cheap(bool lends) const;
  bool has_moved(std::span<void* const> addresses);
  void forget_recorded();

  State state_ = State::unknown;
  Recorded lending_, copying_;
  bool may_lend_ = false;
  int runs_ = 0, recordings_ = 0;
  int away_ = 0;  ///< runs in a row in which what stays was elsewhere
  std::size_t torch_calls_ = 0;
  std::uint64_t settings_ = 0;  ///< as recorded
};

}  // namespace penstock::runtime
