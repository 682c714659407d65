// What is loaded is what was looked at, and nothing of it runs before that.
#include "runtime/code_image.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "runtime/shared_object.h"

using namespace penstock;
using namespace penstock::runtime;

namespace {

/// The bytes of a shared object that the system's compiler makes of C.
std::string compiled(const std::string& source,
                     const std::string& options = "-nostdlib -Wl,-z,now") {
  std::string folder = "/tmp/penstock-image-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  std::ofstream(folder + "/a.c") << source;
  const std::string command =
      "gcc -shared -fPIC -O1 " + options + " -o " + folder + "/a.so " + folder + "/a.c";
  REQUIRE(std::system(command.c_str()) == 0);
  std::stringstream bytes;
  bytes << std::ifstream(folder + "/a.so", std::ios::binary).rdbuf();
  std::filesystem::remove_all(folder);
  return bytes.str();
}

const std::string kVersion =
    "const int penstock_abi_version = " + std::to_string(PENSTOCK_KERNEL_ABI) + ";\n";
const std::string kPlain = kVersion + "int f0(void) { return 7; }\n";

const std::string& compiled_number(int number) {
  static std::map<int, std::string> made;
  auto [found, fresh] = made.try_emplace(number);
  if (fresh)
    found->second =
        compiled(kVersion + "int f0(void) { return " + std::to_string(number) + "; }\n");
  return found->second;
}

Result<std::shared_ptr<SharedObject>> open(const std::string& elf) {
  return SharedObject::open(elf, "test", [](std::string_view) { return Result<void>(); });
}

/// What the C function behind `kernel`, of no parameters, returns.
int call(penstock_kernel kernel) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<void*>(kernel))();
}

}  // namespace

TEST_CASE("plain code is opened, and stays as it was looked at") {
  const std::string elf = compiled(kPlain);
  CHECK(unsafe_part(elf) == "");
  std::string_view seen;
  auto object = SharedObject::open(elf, "test", [&](std::string_view mapped) {
    seen = mapped;
    CHECK(mapped == elf);
    return Result<void>();
  });
  REQUIRE(object.has_value());
  CHECK((*object)->elf().data() == seen.data());
  CHECK(call((*object)->function("f0")) == 7);
  const bool is_missing = (*object)->function("f1") == nullptr;
  CHECK(is_missing);
  auto refused = SharedObject::open(
      elf, "test", [](std::string_view) -> Result<void> { return failure(Code::PS0809, "no"); });
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::PS0809);
}

TEST_CASE("an image cannot be written, made longer or shorter, by whoever finds its file") {
  auto image = CodeImage::copy("code", "test");
  REQUIRE(image.has_value());
  const int found = ::open(image->path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(found >= 0);
  CHECK(pwrite(found, "evil", 4, 0) == -1);
  CHECK(ftruncate(found, 2) == -1);
  CHECK(ftruncate(found, 8) == -1);
  close(found);
  CHECK(image->bytes() == "code");
}

TEST_CASE("code with any number of functions is plain") {
  // The linkers put a table of hashes behind the symbols, whose bytes may look like anything.
  std::string source = kVersion;
  for (int count = 0; count < 150; ++count) {
    source +=
        "int f" + std::to_string(count) + "(void) { return " + std::to_string(count) + "; }\n";
    if (count % 10 == 0) CHECK(unsafe_part(compiled(source)) == "");
  }
}

TEST_CASE("no file is taken for another that had its descriptor") {
  std::vector<std::shared_ptr<SharedObject>> kept;
  for (int i = 0; i < 200; ++i) {
    auto object = open(compiled_number(i % 4));
    REQUIRE(object.has_value());
    CHECK(call((*object)->function("f0")) == i % 4);
    if (i % 3 != 0) kept.push_back(*object);
  }
}

TEST_CASE("code that would run by itself is not opened") {
  // Each of them ends the process when it runs.
  const std::string kEnd =
      "__attribute__((noinline)) static void end(void) { __builtin_trap(); }\n";
  const std::string constructor =
      kPlain + kEnd + "__attribute__((constructor)) static void begin(void) { end(); }\n";
  const std::string chosen = kVersion + kEnd + "static void* choose(void) { end(); return 0; }\n" +
                             "int f0(void) __attribute__((ifunc(\"choose\")));\n";
  const std::string chosen_version =
      kEnd + "static void* choose(void) { end(); return 0; }\n" +
      "int penstock_abi_version(void) __attribute__((ifunc(\"choose\")));\n";
  const std::string other = kPlain + "extern int getpid(void); int f1(void) { return getpid(); }\n";
  const std::string old_init = kPlain + kEnd + "void _init(void) { end(); }\n";
  for (const std::string& source : {constructor, chosen, chosen_version, old_init}) {
    const std::string elf = compiled(source);
    CHECK(unsafe_part(elf) != "");
    auto opened = open(elf);
    REQUIRE(!opened.has_value());
    CHECK(opened.error().code == Code::PS0705);
  }
  CHECK(unsafe_part(compiled(other, "-Wl,-z,now")) != "");
  CHECK(unsafe_part(compiled(kPlain + "__thread int own; int* f1(void) { return &own; }\n")) != "");
  auto older = open(compiled("const int penstock_abi_version = 1000;\n"));
  REQUIRE(!older.has_value());
  CHECK(older.error().message.find("another version") != std::string::npos);
}

TEST_CASE("damaged tables are looked at without a fault") {
  const std::string elf = compiled(kPlain);
  for (std::size_t length = 0; length < 2048 && length < elf.size(); length += 7) {
    static_cast<void>(unsafe_part(std::string_view(elf).substr(0, length)));
  }
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = elf;
    for (int edits = 0; edits < 4; ++edits) {
      const std::uint64_t edge[] = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, random()};
      std::memcpy(damaged.data() + random() % (damaged.size() - 8), &edge[random() % 5], 8);
    }
    static_cast<void>(unsafe_part(damaged));
  }
}
