#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "record/frame_shadow.h"

namespace penstock::record {

class Objects;

/// Something done to an object that existed before the segment, or to the process.
struct Effect {
  Restore::Kind kind;
  Shadow target;
  python::PyRef target_object;
  std::string name;
  Shadow key;
  python::PyRef key_object;
  Shadow value;
  python::PyRef value_object;
  std::int32_t index = -1;
};

/// What a segment changes, in the order in which it does: what an entry repeats behind its graph.
class Effects {
 public:
  explicit Effects(Objects& objects) : objects_(objects) {}

  void add(Restore::Kind kind, Operand target, std::string name, Operand key, Operand value);
  const std::vector<Effect>& all() const { return effects_; }
  /// What was added as the effect `at` has another value in the end.
  void change(std::size_t at, Operand value) {
    effects_[at].value = value.shadow;
    effects_[at].value_object = python::PyRef::borrow(value.object);
  }

  void begin_instruction() {
    before_instruction_ = effects_.size();
    some_to_come_ = false;
  }
  /// The instruction that is executing has some that are added when it is done.
  void expect_some() { some_to_come_ = true; }
  /// True if the instruction that is executing has one.
  bool of_instruction() const { return some_to_come_ || effects_.size() > before_instruction_; }

  /// An attribute of that name is set on a tensor, or deleted.
  void set_on_tensor(std::string attribute) { set_on_tensors_.insert(std::move(attribute)); }
  bool is_set_on_tensor(const std::string& attribute) const {
    return set_on_tensors_.contains(attribute);
  }

 private:
  Objects& objects_;
  std::vector<Effect> effects_;
  std::size_t before_instruction_ = 0;
  bool some_to_come_ = false;
  std::unordered_set<std::string> set_on_tensors_;
};

}  // namespace penstock::record
