#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/evaluator.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {

absl::StatusOr<Value> Evaluator::MakeMacro(const Statement& macro, const FramePtr& frame) {
  // The frame holds the macro in turn.
  const std::weak_ptr<Frame> around = frame;
  const auto call = [this, &macro, around](const Arguments& arguments) -> absl::StatusOr<Value> {
    const FramePtr alive = around.lock();
    if (alive == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("the macro '", macro.text, "' is called outside its block"));
    return Invoke(macro, alive.get(), arguments);
  };
  return Value(Value::Payload(std::make_shared<const Callable>(Callable{macro.text, call})));
}

absl::Status Evaluator::BindParameters(const Statement& macro, const Arguments& arguments,
                                       Frame& frame) {
  const std::vector<Target>& parameters = macro.targets;
  auto named = arguments.named;
  const auto take = [&](const std::string& name) -> std::optional<Value> {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (found == named.end()) return std::nullopt;
    Value value = std::move(found->second);
    named.erase(found);
    return value;
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::optional<Value> value;
    if (i < arguments.positional.size()) {
      value = arguments.positional[i];
    } else {
      value = take(parameters[i].name);
    }
    frame.slots[parameters[i].slot.index] = std::move(value);
  }
  const auto slot = [&](const std::string& name) -> std::optional<Value>& {
    const auto& entries = macro.scopes[0].entries;
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Scope::Entry& entry) { return entry.name == name; });
    return frame.slots[static_cast<size_t>(found - entries.begin())];
  };
  if (macro.has_caller)
    slot("caller") = take("caller").value_or(Value::OfUndefined("no caller is defined"));
  if (macro.has_kwargs) {
    Dict rest;
    for (const auto& entry : named)
      ONWARD_RETURN_IF_ERROR(rest.Set(Value(entry.first), entry.second));
    ONWARD_ASSIGN_OR_RETURN(slot("kwargs"), rendering_.MakeDict(std::move(rest)));
  } else if (!named.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the macro '", macro.text,
                                                   "' has no parameter '",
                                                   files::PrintableUtf8(named[0].first), "'"));
  }
  const bool more = arguments.positional.size() > parameters.size();
  if (macro.has_varargs) {
    Values rest;
    if (more)
      rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(parameters.size()),
                  arguments.positional.end());
    ONWARD_ASSIGN_OR_RETURN(slot("varargs"), rendering_.MakeTuple(std::move(rest)));
  } else if (more) {
    return absl::InvalidArgumentError(absl::StrCat("the macro '", macro.text, "' takes at most ",
                                                   parameters.size(), " arguments"));
  }
  return FillDefaults(macro, frame);
}

absl::Status Evaluator::FillDefaults(const Statement& macro, Frame& frame) {
  const std::vector<Target>& parameters = macro.targets;
  const size_t first = macro.kind == Statement::Kind::kCallBlock ? 1 : 0;
  const size_t defaults = macro.exprs.size() - first;
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::optional<Value>& value = frame.slots[parameters[i].slot.index];
    if (value.has_value()) continue;
    const size_t from_end = parameters.size() - i;
    if (from_end <= defaults) {
      const Expr& otherwise = *macro.exprs[macro.exprs.size() - from_end];
      ONWARD_ASSIGN_OR_RETURN(value, Evaluate(otherwise, frame));
    } else {
      value =
          Value::OfUndefined(absl::StrCat("parameter '", parameters[i].name, "' was not given"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Evaluator::Invoke(const Statement& macro, Frame* around,
                                        const Arguments& arguments) {
  const Rendering::Level level(rendering_);
  ONWARD_RETURN_IF_ERROR(level.Check());
  const FramePtr frame = Enter(macro.scopes[0], around);
  frames_.push_back(frame);
  ONWARD_RETURN_IF_ERROR(BindParameters(macro, arguments, *frame));
  std::string out;
  ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(macro.bodies[0], *frame, out));
  (void)flow;
  frames_.pop_back();
  return rendering_.MakeText(std::move(out));
}

}  // namespace onward::chat_template
