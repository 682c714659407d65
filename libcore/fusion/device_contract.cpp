#include "fusion/device_contract.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <set>

#include "fusion/independence.h"
#include "fusion/loops.h"

namespace penstock {

namespace {

constexpr std::array<std::string_view, 5> kBinds = {"serial", "global_x", "global_y", "global_z",
                                                    "thread_x"};

}  // namespace

std::string_view to_string(Bind bind) {
  return kBinds[static_cast<std::size_t>(bind)];
}

std::optional<Bind> bind_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kBinds.size(); ++i) {
    if (kBinds[i] == name) return static_cast<Bind>(i);
  }
  return std::nullopt;
}

}  // namespace penstock

namespace penstock::fusion {

namespace {

constexpr std::int32_t kWarp = 32, kMostThreads = 1024;

class DeviceChecker {
 public:
  explicit DeviceChecker(const LoopKernel& kernel) : kernel_(kernel) {}

  Result<void> run() {
    const std::int32_t x = kernel_.block_x, y = kernel_.block_y;
    const bool whole = x >= 1 && std::has_single_bit(static_cast<unsigned>(x));
    if (!whole || x > kMostThreads || y < 1 || y > kMostThreads / x)
      broken(fmt::format("a block of {} times {} threads", x, y));
    int loops = 0;
    bool stores = false;
    for (const Statement& statement : kernel_.body) {
      const Instruction* instruction = as_instruction(statement);
      stores |= instruction != nullptr && instruction->op == "store";
      loops += as_loop(statement) != nullptr;
    }
    body(kernel_.body);
    if (grid_ && (loops > 1 || stores)) broken("something stands beside a loop over the grid");
    if (block_ && y > 1 && x > kWarp) broken("rows of several warps stand side by side in a block");
    // They would be joined with those beside them.
    if (block_ && x > 1 && x < kWarp) broken("a row's threads are a part of a warp");
    return std::move(result_);
  }

 private:
  void broken(std::string message) {
    if (result_) result_ = failure(Code::PS0205, std::move(message), "kernel " + kernel_.name);
  }

  void body(const Body& statements) {
    for (const Statement& statement : statements) {
      if (const Loop* inner = as_loop(statement)) loop(*inner);
    }
  }

  void loop(const Loop& loop) {
    const Bind bind = loop.schedule.bind;
    const bool grid = bind != Bind::serial && bind != Bind::thread_x;
    const bool x = bind == Bind::thread_x || bind == Bind::global_x;
    grid_ |= grid;
    block_ |= bind == Bind::thread_x;
    if (bind != Bind::serial && !bound_.insert(bind).second)
      broken(fmt::format("{} is bound twice", to_string(bind)));
    if (x && threads_) broken("two loops, one in the other, go over the same threads");
    if (grid && bound_.contains(Bind::thread_x))
      broken("a loop over the grid stands in one over a block's threads");
    if (grid && !is_independent(loop))
      broken(fmt::format("iterations of {} depend on each other", loop.variable));
    if (bind == Bind::thread_x && loop.accumulators.empty() && !is_independent(loop))
      broken(fmt::format("iterations of {} depend on each other", loop.variable));
    const bool outer = threads_;
    threads_ |= x;
    body(loop.body);
    threads_ = outer;
    if (bind != Bind::serial) bound_.erase(bind);
  }

  const LoopKernel& kernel_;
  Result<void> result_;
  std::set<Bind> bound_;  ///< around
  bool threads_ = false;  ///< a loop around goes over x
  bool grid_ = false, block_ = false;
};

bool binds(const Body& body) {
  return std::ranges::any_of(body, [](const Statement& statement) {
    const Loop* loop = as_loop(statement);
    return loop != nullptr && (loop->schedule.bind != Bind::serial || binds(loop->body));
  });
}

}  // namespace

Result<void> verify_device(const LoopProgram& program, const LoopKernel& kernel) {
  if (program.device != "cpu") return DeviceChecker(kernel).run();
  if (!binds(kernel.body) && kernel.block_x == 1 && kernel.block_y == 1) return {};
  return failure(Code::PS0205, "a loop is bound to threads of a device, and the program has none",
                 "kernel " + kernel.name);
}

}  // namespace penstock::fusion
