#include "python/bytecode.h"

#include <algorithm>

#include "python/cpython.h"
#include "python/object.h"
#include "python/versions/reading.h"

namespace penstock::python {
namespace {

enum class Flow : std::uint8_t { next, ends };

constexpr OpcodeFacts kFacts[] = {
#define PS_OPCODE(name, operand, jump, flow) \
  {#name, Operand::operand, Jump::jump, Flow::flow == Flow::ends},
#include "python/opcodes.def"
#undef PS_OPCODE
};

/// What this Python's bytes mean.
struct Encoding {
  std::array<std::int16_t, 256> opcode;  // byte -> Opcode, or -1
  std::array<std::uint8_t, 256> caches;
  std::array<std::uint8_t, 256> number;  // Opcode -> byte
};

constexpr Encoding make_encoding() {
  Encoding encoding{};
  encoding.opcode.fill(-1);
#define PS_OPCODE_NUMBER(name, byte, cache_units)                  \
  encoding.opcode[byte] = static_cast<std::int16_t>(Opcode::name); \
  encoding.caches[byte] = cache_units;                             \
  encoding.number[static_cast<std::size_t>(Opcode::name)] = byte;
#include "python/versions/current.def"
#undef PS_OPCODE_NUMBER
  return encoding;
}
constexpr Encoding kEncoding = make_encoding();

}  // namespace

const OpcodeFacts& facts(Opcode opcode) {
  return kFacts[static_cast<int>(opcode)];
}

int opcode_number(Opcode opcode) {
  return kEncoding.number[static_cast<std::size_t>(opcode)];
}

void Bytecode::decode() const {
  decoded_ = std::make_unique<Decoded>();
  decode_instructions(*decoded_);
  decode_handlers(*decoded_);
}

namespace {

/// The instruction in front of a CALL_KW, which loads the names of its keywords, becomes a part of
/// it: `start` moves there. False: it is no such instruction.
bool take_names(auto& made, int& start, std::int32_t& names) {
  if (made.instructions.empty()) return false;
  const Instruction& load = made.instructions.back();
  if (load.opcode != Opcode::LOAD_CONST || load.next != start) return false;
  names = load.argument;
  start = load.offset;
  made.instructions.pop_back();
  return true;
}

/// What only makes a bool of the condition that the next instruction asks, as CPython 3.13 and
/// later do it, leaves that to the next one, as earlier ones do: a comparison of tensors gives its
/// flag, which may be computed with the rest of a segment that ends in front of the branch.
void leave_truth_to_next(Instruction& instruction) {
  if (instruction.opcode == Opcode::TO_BOOL) instruction.opcode = Opcode::NOP;
  if (instruction.opcode == Opcode::COMPARE_TO_BOOL) instruction.opcode = Opcode::COMPARE_OP;
}

bool jumps_to_boundaries(const auto& made) {
  const auto is_boundary = [&](int unit) {
    return unit >= 0 && unit < static_cast<int>(made.index.size()) && made.index[unit] >= 0;
  };
  return std::ranges::all_of(made.instructions, [&](const Instruction& one) {
    return one.target < 0 || is_boundary(one.target);
  });
}

}  // namespace

void Bytecode::decode_instructions(Decoded& made) const {
  const PyRef bytes = PyRef::steal(PyCode_GetCode(code_));
  if (!bytes) {
    PyErr_Clear();
    return;
  }
  const auto* units = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  const int count = static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2);
  made.index.assign(count + 1, -1);
  int start = -1;           // first unit of the instruction being put together
  std::int32_t prefix = 0;  // EXTENDED_ARG bits collected so far
  std::int32_t names = -1;  // KW_NAMES waiting for its CALL
  for (int unit = 0; unit < count;) {
    const int byte = units[2 * unit];
    const std::int32_t argument = prefix << 8 | units[2 * unit + 1];
    const int number = kEncoding.opcode[byte];
    if (number < 0) return;
    const Reading reading = read_as_row(static_cast<Opcode>(number), argument);
    Opcode opcode = reading.opcode;
    if (opcode == Opcode::NOT_TAKEN && start < 0 && !made.instructions.empty()) {
      made.instructions.back().next = ++unit;  // a part of the jump in front of it
      continue;
    }
    if (start < 0) start = unit;
    const int at = unit;
    unit += 1 + kEncoding.caches[byte];
    prefix = 0;
    if (opcode == Opcode::EXTENDED_ARG) {
      prefix = argument;
      continue;
    }
    if (opcode == Opcode::KW_NAMES) {
      names = argument;
      continue;
    }
    if (opcode == Opcode::PRECALL) continue;
    if (opcode == Opcode::CALL_KW) {
      if (!take_names(made, start, names)) return;
      opcode = Opcode::CALL;
    }
    Instruction instruction{
        .opcode = opcode, .argument = reading.argument, .offset = start, .at = at, .next = unit};
    instruction.index = static_cast<std::int32_t>(made.instructions.size());
    instruction.byte = static_cast<std::uint8_t>(byte);
    instruction.byte_argument = argument;
    const int skipped = skipped_at_target(opcode);
    if (facts(opcode).jump == Jump::forward) instruction.target = unit + argument + skipped;
    if (facts(opcode).jump == Jump::backward) instruction.target = unit - argument;
    if (opcode == Opcode::CALL) instruction.keyword_names = std::exchange(names, -1);
    made.index[start] = instruction.index;
    if (asks_truth(opcode) && !made.instructions.empty() && made.instructions.back().next == start)
      leave_truth_to_next(made.instructions.back());
    made.instructions.push_back(instruction);
    start = -1;
  }
  made.valid = start < 0 && jumps_to_boundaries(made);
}

const Instruction& Bytecode::containing(int unit) const {
  const auto after = std::upper_bound(
      instructions().begin(), instructions().end(), unit,
      [](int wanted, const Instruction& instruction) { return wanted < instruction.offset; });
  return after == instructions().begin() ? instructions().front() : *(after - 1);
}

int stack_effect(const Instruction& instruction, bool jumps) {
  switch (instruction.opcode) {
    case Opcode::CALL:  // with its names
      return -instruction.argument - 1;
    case Opcode::FOR_ITER:
    case Opcode::SEND:
      if (jumps) return -1;
      break;
    case Opcode::RETURN_GENERATOR:  // the resumed generator finds the value sent to it on its stack
      return 1;
    default:
      break;
  }
  return PyCompile_OpcodeStackEffectWithJump(
      instruction.byte, instruction.byte >= kFirstWithArgument ? instruction.byte_argument : 0,
      jumps);
}

int Bytecode::depth(int unit) const {
  Decoded& known = decoded();
  if (known.depths.empty()) analyse_depths(known);
  return unit >= 0 && unit < static_cast<int>(known.depths.size()) ? known.depths[unit] : -1;
}

bool Bytecode::is_place(int unit, int index) const {
  Decoded& known = decoded();
  if (known.depths.empty()) analyse_depths(known);
  if (unit < 0 || unit >= static_cast<int>(known.places.size())) return false;
  return std::ranges::find(known.places[unit], index) != known.places[unit].end();
}

namespace {

using Places = std::vector<std::int32_t>;

/// Where places lie behind `instruction`, which leaves a stack of `depth_after`.
Places places_behind(const Instruction& instruction, const Places& before, int depth,
                     int depth_after) {
  Places after;
  const int swapped = instruction.opcode == Opcode::SWAP ? depth - instruction.argument : depth - 1;
  for (const int index : before) {
    const int moved = index == swapped ? depth - 1 : index == depth - 1 ? swapped : index;
    if (moved < depth_after) after.push_back(moved);
    if (instruction.opcode == Opcode::COPY && index == depth - instruction.argument)
      after.push_back(depth);
  }
  return after;
}

Places places_in_handler(const Handler& handler, const Places& before) {
  Places after;
  std::ranges::copy_if(before, std::back_inserter(after),
                       [&](int index) { return index < handler.depth; });
  if (handler.push_lasti) after.push_back(handler.depth);
  return after;
}

}  // namespace

/// Follows every edge once from the first instruction: compiled code has one depth per instruction
/// whatever the path, so that no meeting of paths has to be considered. A handler is reached from
/// any instruction that it covers, at the depth that its table row names.
void Bytecode::analyse_depths(Decoded& known) const {
  known.depths.assign(known.index.size(), -1);
  if (!known.handlers.empty()) known.places.resize(known.index.size());
  std::vector<int> work;
  const auto reach = [&](int unit, int depth, Places places) {
    if (at(unit) == nullptr || known.depths[unit] >= 0) return;
    known.depths[unit] = depth;
    if (!places.empty()) known.places[unit] = std::move(places);
    work.push_back(unit);
  };
  const auto follow = [&] {
    while (!work.empty()) {
      const int unit = work.back();
      work.pop_back();
      const Instruction& instruction = *at(unit);
      const int depth = known.depths[unit];
      const Places places = known.places.empty() ? Places() : known.places[unit];
      if (!facts(instruction.opcode).ends) {
        const int after = depth + stack_effect(instruction, false);
        reach(instruction.next, after, places_behind(instruction, places, depth, after));
      }
      if (instruction.target >= 0) {
        const int after = depth + stack_effect(instruction, true);
        reach(instruction.target, after, places_behind(instruction, places, depth, after));
      }
      if (const Handler* one = handler(instruction.at))
        reach(one->target, one->depth_on_entry(), places_in_handler(*one, places));
    }
  };
  reach(0, 0, {});
  follow();
  for (const Handler& one : known.handlers)
    reach(one.target, one.depth_on_entry(), places_in_handler(one, {}));
  follow();
}

PyObject* slot_name(PyCodeObject* code, int slot) {
  return PyTuple_GET_ITEM(code->co_localsplusnames, slot);
}

}  // namespace penstock::python
