// A compilation's limits: where each begins to hold, and that none of them lets go again.
#include "diag/budget.h"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace penstock {
namespace {

constexpr CompileLimits kNone = {.seconds = 0, .memory_mebibytes = 0, .code_mebibytes = 0};
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

std::string refusal(Budget& budget) {
  auto may = budget.check("codegen");
  REQUIRE(!may.has_value());
  CHECK(may.error().code == Code::PS0709);
  CHECK(may.error().message.find("stopped at codegen") != std::string::npos);
  return may.error().message;
}

TEST_CASE("machine code may come to the limit and not beyond") {
  CompileLimits limits = kNone;
  limits.code_mebibytes = 1;
  Budget budget(limits);
  CHECK(budget.has_room_for_code(kMebibyte));
  CHECK(!budget.has_room_for_code(kMebibyte + 1));
  budget.add_code(kMebibyte);
  CHECK(budget.check("codegen").has_value());
  CHECK(!budget.has_room_for_code(1));
  budget.add_code(1);
  CHECK(refusal(budget).find("more than 1 MiB of machine code") != std::string::npos);
  CHECK(budget.is_spent());
}

TEST_CASE("a compilation ends when its time does") {
  CompileLimits limits = kNone;
  limits.seconds = 0.02;
  Budget budget(limits);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  CHECK(refusal(budget).find("more than 0.02 s") != std::string::npos);
  limits.seconds = 1000;
  Budget patient(limits);
  CHECK(patient.check("codegen").has_value());
}

TEST_CASE("memory that was given back does not raise a limit that was reached") {
  CompileLimits limits = kNone;
  limits.memory_mebibytes = 4;
  Budget budget(limits);
  auto memory = std::make_unique<char[]>(kMebibyte);
  CHECK(budget.check("codegen").has_value());
  memory = std::make_unique<char[]>(16 * kMebibyte);
  CHECK(refusal(budget).find("more than 4 MiB of memory") != std::string::npos);
  memory.reset();
  refusal(budget);
}

TEST_CASE("counted work looks at the limits every few thousand units") {
  CompileLimits limits = kNone;
  limits.code_mebibytes = 1;
  Budget budget(limits);
  budget.add_code(2 * kMebibyte);
  CHECK(!budget.is_spent(1));
  CHECK(budget.is_spent(10'000));
  CHECK(budget.is_spent(1));
}

TEST_CASE("no limit is reached where none is set") {
  Budget budget(kNone);
  budget.add_code(1000 * kMebibyte);
  const auto memory = std::make_unique<char[]>(16 * kMebibyte);
  CHECK(budget.has_room_for_code(1000 * kMebibyte));
  CHECK(!budget.is_spent(10'000));
  CHECK(budget.check("codegen").has_value());
  CHECK(check(nullptr, "codegen").has_value());
  CHECK(!is_spent(nullptr, 10'000));
}

}  // namespace
}  // namespace penstock
