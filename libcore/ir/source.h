#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/argument.h"
#include "ir/number.h"

namespace penstock {

/// Index into a SourceTable.
using SourceId = std::uint32_t;
inline constexpr SourceId kNoSource = ~SourceId{0};

/// One step of the path by which a value is reached from the frame at segment start.
enum class SourceKind : std::uint8_t {
  local,       ///< L['name']: local variable; index = its slot in localsplus
  cell,        ///< C['name']: content of a cell or free variable; index = its slot in localsplus
  stack,       ///< S[index]: operand stack slot, 0 is the bottom
  global,      ///< G['name']: the frame's globals
  builtin,     ///< B['name']: the frame's builtins
  module,      ///< M['name']: sys.modules
  attribute,   ///< base.name, by the generic algorithm (descriptors included)
  instance,    ///< base.__dict__['name'] without looking at the type
  dict_item,   ///< base[key], base a dict; the key is a literal, or the object that `other` holds,
               ///< which is found by its identity: `key` is the text of that source then
  item,        ///< base[index], base a list or tuple
  type,        ///< type(base)
  code,        ///< base.__code__
  defaults,    ///< base.__defaults__
  kwdefaults,  ///< base.__kwdefaults__
  closure,     ///< content of base.__closure__[index]
  self,        ///< base.__self__
  function,    ///< base.__func__
  size,        ///< base.size(index), base a tensor
  stride,      ///< base.stride(index)
  offset,      ///< base.storage_offset()
  length,      ///< len(base)
  number,      ///< a plain int or float: key; an operand of `computed`
  computed,    ///< what Python computes of numbers: NumberOp `index` of base and, if it takes two,
               ///< other
  decided,     ///< a size that elements decide in the segment: the symbol `name`. Nothing is read
               ///< there before, so that no guard stands on it
};

/// A path of steps, interned: equal paths have equal ids, so a fact is guarded once.
struct SourceStep {
  SourceKind kind;
  SourceId base = kNoSource;  ///< kNoSource for local, cell, stack, global, builtin, module, number
  std::string name;           ///< variable, attribute or module
  std::int64_t index = 0;     ///< slot or position
  Argument key;               ///< dict_item, number
  SourceId other = kNoSource;  ///< computed: the second operand; dict_item: what holds the key

  NumberOp operation() const { return static_cast<NumberOp>(index); }
};

/// All sources of one segment; append-only, a base always stands before what is reached from it.
class SourceTable {
 public:
  SourceId intern(SourceStep step);
  const SourceStep& operator[](SourceId id) const { return steps_[id]; }
  std::size_t size() const { return steps_.size(); }
  /// "L['self']._modules['fc'].weight"; of what is computed: "(L['rate'] / (1 - L['beta']))"
  std::string text(SourceId id) const;

 private:
  /// A place of the hash table.
  struct Slot {
    std::size_t hash = 0;
    SourceId id = kNoSource;  ///< kNoSource: free
  };

  std::string step_text(const SourceStep& step, const std::string& base) const;
  Slot& slot_of(const SourceStep& step, std::size_t hash);
  void grow();

  std::vector<SourceStep> steps_;
  std::vector<Slot> slots_;  ///< of all steps; a power of two, at most half in use
};

/// Reads what SourceTable::text writes. The slot of a local, cell or stack source is written behind
/// it in documents ("slot"), not in the text; index is -1 after parsing those but `stack`.
Result<SourceId> parse_source(std::string_view text, SourceTable& table);

}  // namespace penstock
