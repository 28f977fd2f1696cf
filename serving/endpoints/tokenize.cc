// Text to tokens and back, as vLLM's server has it.
#include <utility>

#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/text/task_members.h"
#include "serving/text/text_task.h"

namespace onward::serving {
namespace {

absl::StatusOr<std::vector<int64_t>> TokensOf(const Json& body, const TextModel& model) {
  if (body.contains("messages")) {
    ONWARD_ASSIGN_OR_RETURN(const TextTask task, ReadChat(body, model));
    return task.prompts[0];
  }
  TaskMembers members(body);
  members.Ignore({"model"});
  if (members.Find("prompt") == nullptr) members.Fail("prompt", "is missing");
  const std::string prompt = members.Text("prompt");
  const bool without =
      members.Find("add_special_tokens") != nullptr && !members.Flag("add_special_tokens");
  ONWARD_RETURN_IF_ERROR(members.Finish());
  return model.tokenizer().Encode(prompt, /*add_special=*/!without);
}

absl::Status TokenizeNow(const ServerState& state, const Call& call) {
  ONWARD_ASSIGN_OR_RETURN(const Json body, ReadBody(call.request.body));
  ONWARD_ASSIGN_OR_RETURN(const auto model, TextModelOf(state, call, body));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, TokensOf(body, *model->text()));
  nlohmann::json document = {{"count", tokens.size()}, {"tokens", tokens}};
  const int64_t context = model->text()->facts().context;
  document["max_model_len"] = context > 0 ? nlohmann::json(context) : nlohmann::json(nullptr);
  call.respond(JsonReply(document));
  return absl::OkStatus();
}

absl::Status DetokenizeNow(const ServerState& state, const Call& call) {
  ONWARD_ASSIGN_OR_RETURN(const Json body, ReadBody(call.request.body));
  ONWARD_ASSIGN_OR_RETURN(const auto model, TextModelOf(state, call, body));
  const files::Tokenizer& tokenizer = model->text()->tokenizer();
  const auto given = body.find("tokens");
  std::vector<int64_t> tokens;
  if (given == body.end() || !given->is_array())
    return absl::InvalidArgumentError("tokens: expected an array of whole numbers");
  for (const Json& each : *given) {
    const int64_t id = each.is_number_integer() ? each.get<int64_t>() : -1;
    if (id < 0 || id >= tokenizer.size())
      return absl::InvalidArgumentError("tokens: expected numbers of the model's tokens");
    tokens.push_back(id);
  }
  ONWARD_ASSIGN_OR_RETURN(const std::string text, tokenizer.Decode(tokens, /*skip_special=*/false));
  call.respond(JsonReply({{"prompt", text}}));
  return absl::OkStatus();
}

}  // namespace

void Tokenize(ServerState& state, Call call) {
  WhenDecoded(state, std::move(call),
              [&state](Call& decoded) { return TokenizeNow(state, decoded); });
}

void Detokenize(ServerState& state, Call call) {
  WhenDecoded(state, std::move(call),
              [&state](Call& decoded) { return DetokenizeNow(state, decoded); });
}

}  // namespace onward::serving
