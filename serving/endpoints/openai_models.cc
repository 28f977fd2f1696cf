// The models as OpenAI's clients list them.
#include <nlohmann/json.hpp>
#include <utility>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

nlohmann::json Described(const ServedModel& model) {
  nlohmann::json described = {
      {"id", model.name()}, {"object", "model"}, {"created", 0}, {"owned_by", "onward"}};
  const TextModel* text = model.text();
  described["generates"] = text != nullptr && text->generates();  // the page looks at it
  if (text != nullptr && text->facts().context > 0)
    described["max_model_len"] = text->facts().context;
  return described;
}

}  // namespace

void OpenAiModelList(ServerState& state, Call call) {
  nlohmann::json models = nlohmann::json::array();
  for (const std::string& name : state.models.Names()) {
    const auto model = state.models.Find(name, "");
    if (model.ok()) models.push_back(Described(**model));
  }
  call.respond(JsonReply({{"object", "list"}, {"data", std::move(models)}}));
}

void OpenAiModel(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  call.respond(model.ok() ? JsonReply(Described(**model)) : ErrorReply(model.status()));
}

}  // namespace onward::serving
