#include "fusion/loop_program.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

Json encode_body(const std::vector<Statement>& body);
std::vector<Statement> decode_body(const Field& field);

Json encode_instruction(const Instruction& instruction) {
  Json out{{"op", instruction.op}, {"dtype", facts(instruction.dtype).name}};
  if (instruction.result != -1) out["result"] = instruction.result;
  if (!instruction.operands.empty()) out["operands"] = instruction.operands;
  if (instruction.buffer != kNoBuffer) out["buffer"] = instruction.buffer;
  if (instruction.buffer != kNoBuffer || instruction.index != SymExpr(0)) {
    out["index"] = encode_size(instruction.index);
  }
  if (!instruction.immediate.is_none()) {
    out["immediate"] = encode_argument(instruction.immediate, {});
  }
  return out;
}

Instruction decode_instruction(Record& record) {
  Instruction instruction;
  instruction.op = record.required("op").text();
  instruction.dtype = read_name(record.required("dtype"), dtype_from_name, "dtype");
  instruction.result = record.integer32_or("result", -1);
  if (auto operands = record.optional("operands")) instruction.operands = operands->integers32();
  instruction.buffer = record.integer32_or("buffer", kNoBuffer);
  instruction.index = record.size_or("index", 0);
  if (auto immediate = record.optional("immediate")) {
    instruction.immediate = decode_argument(*immediate, {});
  }
  return instruction;
}

Json encode_accumulator(const Accumulator& accumulator) {
  return Json{{"op", accumulator.op},
              {"dtype", facts(accumulator.dtype).name},
              {"value", accumulator.value},
              {"results", accumulator.results}};
}

Accumulator decode_accumulator(const Field& field) {
  Record record(field);
  Accumulator accumulator;
  accumulator.op = record.required("op").text();
  accumulator.dtype = read_name(record.required("dtype"), dtype_from_name, "dtype");
  accumulator.value = record.required("value").integer32();
  accumulator.results = record.required("results").integers32();
  return accumulator;
}

/// All fields are written, so that whoever edits a schedule sees what there is; of programs for the
/// CPU all but what binds loops to a device's threads.
Json encode_schedule(const Schedule& schedule) {
  Json out{{"parallel", schedule.parallel},
           {"grain", schedule.grain},
           {"vectorize", schedule.vectorize},
           {"tile", schedule.tile},
           {"unroll", schedule.unroll}};
  if (schedule.bind != Bind::serial) out["bind"] = to_string(schedule.bind);
  return out;
}

Schedule decode_schedule(const Field& field) {
  Record record(field);
  Schedule schedule;
  schedule.parallel = record.flag_or("parallel", false);
  schedule.vectorize = record.flag_or("vectorize", false);
  auto positive = [&](std::string_view key, std::int64_t least) {
    auto value = record.optional(key);
    if (!value) return least;
    if (value->integer() < least) value->fail("the number is too small");
    return value->integer();
  };
  schedule.grain = positive("grain", 1);
  schedule.tile = positive("tile", 0);
  schedule.unroll = positive("unroll", 1);
  if (auto bind = record.optional("bind"))
    schedule.bind = read_name(*bind, bind_from_name, "way to bind a loop");
  return schedule;
}

Json encode_loop(const Loop& loop) {
  Json out{{"loop", loop.variable},
           {"extent", encode_size(loop.extent)},
           {"schedule", encode_schedule(loop.schedule)},
           {"body", encode_body(loop.body)}};
  Json accumulators = Json::array();
  for (const Accumulator& one : loop.accumulators) accumulators.push_back(encode_accumulator(one));
  if (!loop.accumulators.empty()) out["accumulators"] = std::move(accumulators);
  return out;
}

Loop decode_loop(Record& record) {
  Loop loop;
  loop.variable = record.required("loop").text();
  loop.extent = record.required("extent").size();
  loop.schedule = decode_schedule(record.required("schedule"));
  record.each("accumulators",
              [&](const Field& item) { loop.accumulators.push_back(decode_accumulator(item)); });
  loop.body = decode_body(record.required("body"));
  return loop;
}

Json encode_body(const std::vector<Statement>& body) {
  Json out = Json::array();
  for (const Statement& statement : body) {
    if (auto* instruction = std::get_if<Instruction>(&statement)) {
      out.push_back(encode_instruction(*instruction));
    } else {
      for (const Loop& loop : std::get<std::vector<Loop>>(statement)) {
        out.push_back(encode_loop(loop));
      }
    }
  }
  return out;
}

std::vector<Statement> decode_body(const Field& field) {
  std::vector<Statement> body;
  field.each([&](const Field& item) {
    Record record(item);
    if (record.has("loop")) {
      body.emplace_back(std::vector<Loop>{decode_loop(record)});
    } else {
      body.emplace_back(decode_instruction(record));
    }
  });
  return body;
}

Json encode_step(const LoopKernel& kernel) {
  Json out{{"kind", "kernel"},
           {"name", kernel.name},
           {"body", encode_body(kernel.body)},
           {"calls", kernel.calls},
           {"reason", kernel.reason}};
  if (kernel.block_x != 1 || kernel.block_y != 1) out["block"] = {kernel.block_x, kernel.block_y};
  return out;
}

void decode_block(Record& record, std::int32_t& x, std::int32_t& y) {
  auto field = record.optional("block");
  if (!field) return;
  const std::vector<std::int32_t> block = field->integers32();
  if (block.size() != 2) return field->fail("a block has two numbers of threads");
  x = block[0];
  y = block[1];
}

ProgramStep decode_step(const Field& field) {
  Record record(field);
  Field kind = record.required("kind");
  std::string name = kind.text();
  if (name == "library") return decode_library_call(record);
  if (name == "fallback") return decode_fallback_call(record);
  if (name != "kernel") kind.fail("a step is a kernel, a library or a fallback");
  LoopKernel kernel;
  kernel.name = record.required("name").text();
  kernel.body = decode_body(record.required("body"));
  kernel.calls = record.required("calls").integers32();
  kernel.reason = record.text_or("reason", {});
  decode_block(record, kernel.block_x, kernel.block_y);
  return kernel;
}

}  // namespace

void encode_graph(const LoopProgram& program, Json& out, Json& blobs) {
  encode_interface(program.interface, out);
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    out["outputs"][i]["buffer"] = program.outputs[i];
  }
  out["calls"] = encode_calls(program.calls, {});
  out["buffers"] = encode_buffers(program.buffers);
  Json steps = Json::array();
  for (const ProgramStep& step : program.steps) {
    steps.push_back(std::visit([](const auto& one) { return encode_step(one); }, step));
  }
  out["steps"] = std::move(steps);
  out["arena_bytes"] = encode_size(program.arena_bytes);
  if (program.device != "cpu") out["device"] = program.device;
  encode_blobs(program.interface, blobs);
  encode_blobs(program.buffers, blobs);
}

LoopProgram decode_loops(Record& record) {
  LoopProgram program;
  decode_interface(record, program.interface);
  decode_inputs(record, program.interface, {});
  decode_outputs(record, program.interface, [&](Record& output) {
    program.outputs.push_back(output.required("buffer").integer32());
  });
  program.calls = decode_calls(record.required("calls"), {});
  program.buffers = decode_buffers(record.required("buffers"));
  record.required("steps").each(
      [&](const Field& item) { program.steps.push_back(decode_step(item)); });
  program.arena_bytes = record.required("arena_bytes").size();
  program.device = record.text_or("device", "cpu");
  decode_blobs(record, program.interface,
               [&](std::string_view use, std::size_t index, std::string hash) {
                 return decode_blob(use, index, hash, program.buffers);
               });
  return program;
}

}  // namespace penstock::formats
