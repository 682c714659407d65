#include "record/models.h"

namespace penstock::record {

Result<policy::Callables> callables_with_models(const std::string& path) {
  auto callables = policy::Callables::make(path);
  if (!callables) return callables;
  for (const CallRule& rule : callables->rules().all()) {
    const bool lost = rule.action == CallAction::model &&
                      find_function_model(rule.handler) == nullptr &&
                      find_code_model(rule.handler) == nullptr;
    if (lost)
      return failure(Code::PS0601, rule.text() + ": there is no model called " + rule.handler);
  }
  return callables;
}

}  // namespace penstock::record
