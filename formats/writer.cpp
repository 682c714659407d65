#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "formats/json/parse.h"
#include "formats/stream.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kCborTag = "\xD9\xD9\xF7";

/// Length of the part of `path` that says where an installation lies: up to and with site-packages,
/// dist-packages or lib/pythonX.Y; 0: none.
std::size_t installation_prefix(std::string_view path) {
  for (std::string_view mark : {"/site-packages/", "/dist-packages/"}) {
    if (auto at = path.rfind(mark); at != std::string_view::npos) return at + mark.size();
  }
  auto at = path.rfind("/lib/python");
  if (at == std::string_view::npos) return 0;
  auto end = path.find('/', at + 11);
  return end == std::string_view::npos ? 0 : end + 1;
}

/// Length of the part of `path` above the outermost package that holds it; 0: it is in none.
std::size_t package_prefix(const std::string& path) {
  std::size_t prefix = 0;
  std::error_code error;
  for (auto end = path.rfind('/'); end != std::string::npos && end > 0;) {
    if (!std::filesystem::exists(path.substr(0, end) + "/__init__.py", error)) break;
    end = path.rfind('/', end - 1);
    prefix = end == std::string::npos ? 0 : end + 1;
  }
  return prefix;
}

/// Replaces absolute files of locations by short ones that do not depend on where things lie.
class FileNames {
 public:
  explicit FileNames(const std::string& directory)
      : directory_(std::filesystem::path(directory).lexically_normal().string()) {
    if (!directory_.empty() && directory_.back() != '/') directory_ += '/';
  }

  /// Walks `json`; a record with `file` and `line` is a location. Adds what was replaced to
  /// `files`.
  void shorten(Json& json, Json& files) {
    if (json.is_object()) {
      auto file = json.find("file");
      if (file != json.end() && file->is_string() && json.contains("line")) {
        const auto& path = file->get_ref<const std::string&>();
        if (path.starts_with('/')) {
          std::string name = short_name(path);
          files[name] = path;
          *file = std::move(name);
        }
        return;
      }
    }
    if (!json.is_structured()) return;
    for (auto& item : json) shorten(item, files);
  }

 private:
  std::string short_name(const std::string& path) {
    if (auto known = names_.find(path); known != names_.end()) return known->second;
    const std::string place = std::filesystem::path(path).lexically_normal().string();
    std::string name;
    if (auto installed = installation_prefix(place); installed > 0) {
      name = place.substr(installed);
    } else if (!directory_.empty() && place.starts_with(directory_)) {
      name = place.substr(directory_.size());
    } else if (auto above = package_prefix(place); above > 0) {
      name = place.substr(above);
    } else {
      name = place.substr(place.rfind('/') + 1);
    }
    // Two files of one name: more of the path tells them apart.
    auto taken = [&](const std::string& candidate) {
      auto other = paths_.find(candidate);
      return other != paths_.end() && other->second != path;
    };
    while (taken(name) && name.size() + 1 < place.size()) {
      auto slash = place.rfind('/', place.size() - name.size() - 2);
      name = place.substr(slash == std::string::npos ? 0 : slash + 1);
    }
    paths_.emplace(name, path);
    return names_.emplace(path, std::move(name)).first->second;
  }

  std::string directory_;
  std::map<std::string, std::string> names_;  ///< absolute -> short
  std::map<std::string, std::string> paths_;  ///< short -> absolute
};

Json prepare(const Document& document, const WriteOptions& options) {
  Json json = encode_document(document, options.tensors, options.strip_meta);
  Json meta = Json::object();
  if (auto found = json.find("meta"); found != json.end()) {
    meta = std::move(*found);
    json.erase(found);
  }
  Json files = Json::object();
  FileNames(options.directory).shorten(json, files);
  if (!files.empty()) meta["files"].update(files);
  if (!options.strip_meta && !meta.empty()) json["meta"] = std::move(meta);
  return json;
}

}  // namespace

Result<std::string> encode(const Document& document, const WriteOptions& options) {
  if (auto* graph = std::get_if<GraphDocument>(&document)) {
    if (auto checked = verify(*graph); !checked) return tl::unexpected(checked.error());
  }
  Json json = prepare(document, options);
  switch (options.encoding) {
    case Encoding::json:
      return to_line(json) + '\n';
    case Encoding::pretty:
      return to_pretty(json) + '\n';
    case Encoding::cbor:
      break;
  }
  return to_cbor(json);
}

DocumentWriter::DocumentWriter(Sink sink, WriteOptions options)
    : sink_(std::move(sink)), options_(std::move(options)) {}

Result<void> DocumentWriter::write(const Document& document) {
  auto bytes = encode(document, options_);
  if (!bytes) return tl::unexpected(bytes.error());
  if (first_ && options_.encoding == Encoding::cbor) bytes->insert(0, kCborTag);
  first_ = false;
  return sink_(*bytes);
}

std::string absolute_file(const Meta& meta, const std::string& file) {
  Json parsed = Json::parse(meta.json, nullptr, false);
  if (!parsed.is_object()) return file;
  auto files = parsed.find("files");
  if (files == parsed.end() || !files->is_object()) return file;
  auto found = files->find(file);
  return found != files->end() && found->is_string() ? found->get<std::string>() : file;
}

std::vector<std::pair<std::string, std::string>> files_of(const Meta& meta) {
  std::vector<std::pair<std::string, std::string>> found;
  const Json parsed = Json::parse(meta.json, nullptr, false);
  const auto files = parsed.is_object() ? parsed.find("files") : parsed.end();
  if (!parsed.is_object() || files == parsed.end() || !files->is_object()) return found;
  for (const auto& [file, path] : files->items()) {
    if (path.is_string()) found.emplace_back(file, path.get<std::string>());
  }
  return found;
}

}  // namespace penstock::formats
