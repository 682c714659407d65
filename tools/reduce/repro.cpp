#include "tools/reduce/repro.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/pack.h"
#include "store/trust.h"

namespace penstock::tools {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMember = "replay.json";
constexpr std::string_view kProgram = "program.py";
/// What the store trusts of such a file.
constexpr std::string_view kStatement = "penstock replay runs the command of this file";

std::string to_json(const Repro& repro) {
  const Question& question = repro.question;
  const Json out{{"command", question.command},   {"file", question.file},
                 {"matching", question.text},     {"timeout", question.timeout},
                 {"status", repro.wanted.status}, {"errors", repro.wanted.errors}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A name without a folder, which cannot lead out of the one where the file is put.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

/// Whether it is a list of texts that a command can have as words.
bool is_words(const Json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& word) {
           return word.is_string() &&
                  word.get_ref<const std::string&>().find('\0') == std::string::npos;
         });
}

Result<Repro> from_json(const std::string& text, const std::string& path) {
  const Json read = Json::parse(text, nullptr, false);
  const auto has = [&](const char* key, bool (Json::*kind)() const noexcept) {
    return read.is_object() && read.contains(key) && (read[key].*kind)();
  };
  const bool whole = has("command", &Json::is_array) && is_words(read["command"]) &&
                     has("errors", &Json::is_array) && is_words(read["errors"]) &&
                     has("file", &Json::is_string) && has("matching", &Json::is_string) &&
                     has("timeout", &Json::is_number_integer) &&
                     has("status", &Json::is_number_integer);
  Repro out;
  if (whole) {
    out.question = {read["command"], read["timeout"], read["matching"], read["file"]};
    out.wanted.status = read["status"];
    out.wanted.errors = read["errors"].get<std::set<std::string>>();
    out.wanted.printed = true;
  }
  const Question& question = out.question;
  if (!whole || question.command.empty() || question.command.front().empty() ||
      question.timeout < 1 || !is_file_name(question.file)) {
    return failure(Code::PS0201,
                   fmt::format("its {} does not say what to run, and what to expect", kMember),
                   path);
  }
  return out;
}

Result<std::string> bytes_of_file(const std::string& path) {
  auto source = formats::open_source(path);
  if (!source) return tl::unexpected(std::move(source.error()));
  std::string out, piece(std::size_t{1} << 16, '\0');
  while (true) {
    auto got = (*source)(piece.data(), piece.size());
    if (!got) return tl::unexpected(std::move(got.error()));
    if (*got == 0) return out;
    out.append(piece, 0, *got);
  }
}

}  // namespace

Result<void> write_repro(const std::string& path, const Repro& repro, store::Store& store) {
  std::vector<formats::PackMember> members = {{std::string(kMember), to_json(repro)}};
  if (!repro.program.empty()) members.push_back({std::string(kProgram), repro.program});
  if (auto written = formats::write_pack(path, repro.stream, store, members); !written)
    return written;
  return trust_repro(path, store);
}

Result<Repro> read_repro(const std::string& path, const std::string& store) {
  auto member = formats::read_member(path, kMember);
  if (!member) return tl::unexpected(std::move(member.error()));
  if (!*member) {
    auto none = failure(Code::PS0201, "the file holds no command to replay", path);
    none.value().hint = "Make one with `penstock reduce --repro=FILE`.";
    return none;
  }
  auto out = from_json(**member, path);
  if (!out) return out;
  auto program = formats::read_member(path, kProgram);
  if (!program) return tl::unexpected(std::move(program.error()));
  if (*program) {
    out->program = std::move(**program);
    return out;
  }
  auto reader = formats::open_documents(path, store);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  auto stream = formats::read_all(*reader);
  if (!stream) return tl::unexpected(std::move(stream.error()));
  out->stream = std::move(*stream);
  return out;
}

bool is_repro(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const auto member = formats::read_member(path, kMember);
  return !member || member->has_value();
}

Result<void> trust_repro(const std::string& path, store::Store& store) {
  auto bytes = bytes_of_file(path);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  return store::Trust(store).allow(kStatement, *bytes);
}

Result<bool> is_trusted_repro(const std::string& path, store::Store& store) {
  auto bytes = bytes_of_file(path);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  return store::Trust(store).allows(kStatement, *bytes);
}

std::string shell_words(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) {
    if (!out.empty()) out += ' ';
    const bool plain =
        !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char byte) {
          return std::isalnum(byte) != 0 ||
                 std::string_view("-_./=:,{}+@%").find(static_cast<char>(byte)) !=
                     std::string_view::npos;
        });
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char byte : word) out += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
    out += '\'';
  }
  return out;
}

}  // namespace penstock::tools
