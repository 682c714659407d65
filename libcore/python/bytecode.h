#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::python {

/// Every opcode that a supported Python has (python/opcodes.def). The values are ours: they are the
/// same for all minor versions; versions/py3NN.def maps a version's bytes to them.
enum class Opcode : std::uint8_t {
#define PS_OPCODE(name, operand, jump, flow) name,
#include "python/opcodes.def"
#undef PS_OPCODE
};

/// What an instruction's argument means.
enum class Operand : std::uint8_t { none, name, constant, local, cell, jump, compare, count };
enum class Jump : std::uint8_t { none, forward, backward };

/// The facts of one row of opcodes.def.
struct OpcodeFacts {
  std::string_view name;
  Operand operand;
  Jump jump;
  bool ends;  ///< control never reaches the following instruction
};
const OpcodeFacts& facts(Opcode opcode);

/// The byte of `opcode` in this Python's co_code.
int opcode_number(Opcode opcode);
/// One instruction of a code object. Units count 16-bit code units from the start of co_code.
/// EXTENDED_ARG prefixes belong to the instruction they extend, inline caches to the one in front
/// of them, and a call with keyword names is one instruction, a CALL, with the KW_NAMES and PRECALL
/// or the LOAD_CONST of its names in front of it: the boundaries between instructions are exactly
/// the places where a frame may be entered and left.
struct Instruction {
  Opcode opcode;
  std::int32_t argument = 0;
  std::int32_t offset = 0;          ///< unit of its first code unit (a prefix, where it has one)
  std::int32_t at = 0;              ///< unit of the opcode itself: f_lasti / 2 while it runs
  std::int32_t next = 0;            ///< unit of the following instruction
  std::int32_t target = -1;         ///< unit that it may jump to, or -1
  std::int32_t keyword_names = -1;  ///< CALL: index in co_consts of the keyword names, or -1
  std::int32_t index = 0;           ///< its place in Bytecode::instructions
  std::uint8_t byte = 0;            ///< what stands in co_code, which `opcode` is the reading of
  std::int32_t byte_argument = 0;   ///< with this argument
};

/// The two slots of an instruction that is two (LOAD_FAST_LOAD_FAST and its like).
constexpr int first_of_two(const Instruction& instruction) {
  return instruction.argument >> 4;
}
constexpr int second_of_two(const Instruction& instruction) {
  return instruction.argument & 15;
}

/// What LOAD_SPECIAL loads, by its argument.
inline constexpr const char* kSpecialMethods[] = {"__enter__", "__exit__", "__aenter__",
                                                  "__aexit__"};

/// The frame ends there with a result.
constexpr bool returns(Opcode opcode) {
  return opcode == Opcode::RETURN_VALUE || opcode == Opcode::RETURN_CONST;
}

/// The truth at which a conditional jump that pops what it asks takes its jump; nothing for other
/// opcodes.
constexpr std::optional<bool> jumps_on(Opcode opcode) {
  switch (opcode) {
    case Opcode::POP_JUMP_FORWARD_IF_TRUE:
    case Opcode::POP_JUMP_BACKWARD_IF_TRUE:
      return true;
    case Opcode::POP_JUMP_FORWARD_IF_FALSE:
    case Opcode::POP_JUMP_BACKWARD_IF_FALSE:
      return false;
    default:
      return std::nullopt;
  }
}

/// It asks the truth of what it pops. Where CPython's own takes nothing but a bool (3.13 and
/// later), a frame that is conducted may have any object there, of which a bool is made before the
/// frame is left to the evaluator.
constexpr bool asks_truth(Opcode opcode) {
  return opcode == Opcode::UNARY_NOT || jumps_on(opcode).has_value();
}

/// The source range of an instruction: lines from 1 (0: none), columns in UTF-8 bytes from 0 (-1:
/// none).
struct Position {
  int line = 0;
  int end_line = 0;
  int column = -1;
  int end_column = -1;
};

/// A row of the exception table: units [start, end) are handled at `target`, with the stack popped
/// to `depth`, and the failing instruction's unit pushed under the exception when `push_lasti`.
struct Handler {
  std::int32_t start;
  std::int32_t end;
  std::int32_t target;
  std::int32_t depth;
  bool push_lasti;
  /// Operand stack depth on arrival at `target`.
  int depth_on_entry() const { return depth + (push_lasti ? 1 : 0) + 1; }
};

/// What another room hangs on a code object; destroyed with it (with the GIL held).
struct CodeData {
  virtual ~CodeData() = default;
};
/// Whose data: one slot each per code object. `rule`: of capture as well.
enum class CodeSlot : std::uint8_t { capture, rule, jit, windows, count };

/// A code object with what we keep of it (co_extra). Its bytes are decoded when first asked for: of
/// the code that a program runs, most is never conducted.
class Bytecode {
 public:
  explicit Bytecode(PyCodeObject* code) : code_(code) {}
  Bytecode(const Bytecode&) = delete;
  Bytecode& operator=(const Bytecode&) = delete;

  PyCodeObject* code() const { return code_; }
  /// False if the code holds a byte that is no opcode of this Python: it cannot be conducted.
  bool valid() const { return decoded().valid; }
  const std::vector<Instruction>& instructions() const { return decoded().instructions; }
  /// The instruction that starts at `unit`, or null when no instruction starts there.
  const Instruction* at(int unit) const {
    const Decoded& known = decoded();
    if (unit < 0 || unit >= static_cast<int>(known.index.size()) || known.index[unit] < 0)
      return nullptr;
    return &known.instructions[known.index[unit]];
  }
  /// The same for a unit known to be an instruction's start.
  const Instruction& starting_at(int unit) const {
    const Decoded& known = decoded();
    return known
        .instructions[static_cast<std::size_t>(known.index[static_cast<std::size_t>(unit)])];
  }
  /// The instruction that contains `unit` (a prefix, an opcode or a cache).
  const Instruction& containing(int unit) const;
  const std::vector<Handler>& handlers() const { return decoded().handlers; }
  /// The handler for an exception at `unit` (Instruction::at), or null.
  const Handler* handler(int unit) const;
  /// A handler whose code starts at `unit`, or null.
  const Handler* handler_at(int unit) const;
  /// Operand stack depth before the instruction at `unit`, by static analysis; -1: unreachable or
  /// not an instruction's start. A generator's code starts with one value on its stack.
  int depth(int unit) const;
  /// True if, before the instruction at `unit`, the place where an exception was raised lies at
  /// `index` of the operand stack (Handler::push_lasti); by static analysis, too.
  bool is_place(int unit, int index) const;
  /// The source range of an instruction (decoded for the whole code on first use).
  const Position& position(const Instruction& instruction) const;
  /// The same with the file name, for diagnostics.
  Location location(const Instruction& instruction) const;
  /// "Module.forward"; empty where it is no text.
  const SharedText& qualified_name() const;

  /// Data that `slot`'s room keeps with this code; null until set.
  CodeData* data(CodeSlot slot) const { return data_[static_cast<int>(slot)].get(); }
  void set_data(CodeSlot slot, std::unique_ptr<CodeData> data) {
    data_[static_cast<int>(slot)] = std::move(data);
  }

 private:
  struct Decoded {
    bool valid = false;
    std::vector<Instruction> instructions;
    std::vector<std::int32_t> index;  // unit -> index in instructions, or -1
    std::vector<Handler> handlers;    // sorted by start, disjoint
    // Empty until asked for.
    std::vector<Position> positions;
    std::vector<std::int32_t> depths;
    std::vector<std::vector<std::int32_t>> places;  // likewise, where there are any
    SharedText file, qualified_name;
  };
  Decoded& decoded() const {
    if (decoded_ == nullptr) [[unlikely]]
      decode();
    return *decoded_;
  }
  void decode() const;
  void decode_instructions(Decoded& made) const;
  void decode_handlers(Decoded& made) const;
  void decode_positions(Decoded& known) const;
  void analyse_depths(Decoded& known) const;

  PyCodeObject* code_;  // borrowed: the code object owns us
  mutable std::unique_ptr<Decoded> decoded_;
  std::array<std::unique_ptr<CodeData>, static_cast<int>(CodeSlot::count)> data_;
};

/// The decoded form of `code`, cached with it. Needs the GIL; valid as long as the code object
/// lives.
Bytecode& bytecode_of(PyCodeObject* code);

/// Net change of the operand stack depth by `instruction`, when it jumps or when it does not.
int stack_effect(const Instruction& instruction, bool jumps);

/// The slot's name in localsplus ("x"; cells and free variables included); borrowed, a str.
PyObject* slot_name(PyCodeObject* code, int slot);

}  // namespace penstock::python
