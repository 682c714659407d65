#include "tools/serve/serve_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace penstock::serve {

namespace {

bool may_stand_in_paths(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

/// The name of the model in `file`, which no other one has.
Result<std::string> name_of(const ServeOptions& options, const std::string& file,
                            const Models& others) {
  const std::string name =
      options.name.empty() ? std::filesystem::path(file).stem().string() : options.name;
  if (!may_stand_in_paths(name)) {
    auto wrong = failure(Code::PS0101, fmt::format("\"{}\" is no name for a model: letters, "
                                                   "digits, '.', '_' and '-' stand in it",
                                                   name));
    wrong.value().hint = "Give it another one with --name.";
    return wrong;
  }
  if (others.contains(name))
    return failure(Code::PS0101, fmt::format("two files have models called {}", name));
  return name;
}

Result<Models> load_models(tools::Stage& stage, const ServeOptions& options) {
  if (options.server.port > 65535)
    return failure(Code::PS0101, fmt::format("--port: {} is no port", options.server.port));
  const std::vector<std::string>& files = stage.settings().files;
  if (files.empty()) {
    auto none = failure(Code::PS0101, "no model is named");
    none.value().hint = "penstock serve MODEL.pstk, a file that penstock export wrote.";
    return none;
  }
  if (files.size() > 1 && !options.name.empty())
    return failure(Code::PS0101, "--name is for one file, and there are several");
  Models models;
  for (const std::string& file : files) {
    auto name = name_of(options, file, models);
    if (!name) return tl::unexpected(std::move(name.error()));
    auto timer = stage.phase("load " + *name);
    embedding::ModelOptions how;
    how.store = options.store;
    how.trust = options.trust;
    how.deterministic = options.deterministic;
    auto model = embedding::Model::load(file, how);
    if (!model) {
      const bool is_document =
          facts(model.error().code).exit_status == status(tools::Exit::malformed);
      if (is_document) model.error().hint = "Files to serve are what penstock export writes.";
      return tl::unexpected(std::move(model.error()));
    }
    auto batcher = Batcher::create(std::move(*model), options.batcher);
    if (!batcher) return tl::unexpected(std::move(batcher.error()));
    models.emplace(std::move(*name), std::move(*batcher));
  }
  return models;
}

}  // namespace

Result<void> serve_models(tools::Stage& stage, const ServeOptions& options) {
  auto models = load_models(stage, options);
  if (!models) return tl::unexpected(std::move(models.error()));
  std::string names;
  for (const auto& [name, model] : *models) {
    const std::int64_t rows = model->most_rows();
    names += fmt::format("  {}{}\n", name,
                         rows > 1 ? fmt::format(", up to {} rows together", rows) : "");
  }
  auto server = Server::open(options.server, std::move(*models));
  if (!server) return tl::unexpected(std::move(server.error()));
  stage.print(fmt::format("serving on {}\n{}", server->address(), names));
  if (!server->run()) stage.answer(status(tools::Exit::negative));
  return {};
}

}  // namespace penstock::serve
