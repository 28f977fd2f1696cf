#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/evaluator.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Kind = Statement::Kind;

constexpr size_t kMostOutput = size_t{32} << 20;

}  // namespace

FramePtr Evaluator::Enter(const Scope& scope, Frame* around) {
  auto frame = std::make_shared<Frame>();
  frame->around = around;
  frame->slots.resize(scope.entries.size());
  for (size_t i = 0; i < scope.entries.size(); ++i) {
    const Scope::Entry& entry = scope.entries[i];
    if (entry.load == Scope::Load::kVariable) {
      frame->slots[i] = Variable(entry.name);
    } else if (entry.load == Scope::Load::kOuter) {
      Frame* from = around;
      for (int up = entry.outer.up; up > 0; --up) from = from->around;
      frame->slots[i] = from->slots[entry.outer.index];
    }
  }
  return frame;
}

absl::StatusOr<std::string> Evaluator::Run(const Syntax& syntax) {
  const FramePtr frame = Enter(syntax.scope, nullptr);
  frames_.push_back(frame);
  std::string out;
  ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(syntax.body, *frame, out));
  (void)flow;
  return out;
}

absl::Status Evaluator::Append(const std::string& text, std::string& out) {
  if (text.size() > kMostOutput - out.size())
    return absl::ResourceExhaustedError("the chat template writes too much text");
  ONWARD_RETURN_IF_ERROR(rendering_.Charge(text.size()));
  out += text;
  return absl::OkStatus();
}

absl::Status Evaluator::Write(const Value& value, std::string& out) {
  if (value.is_undefined()) return absl::OkStatus();
  if (const std::string* text = value.text()) return Append(*text, out);
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering_, value));
  return Append(text, out);
}

absl::StatusOr<Evaluator::Flow> Evaluator::Execute(const Body& body, Frame& frame,
                                                   std::string& out) {
  const Rendering::Level level(rendering_);
  ONWARD_RETURN_IF_ERROR(level.Check());
  for (const auto& statement : body) {
    ONWARD_RETURN_IF_ERROR(rendering_.Step());
    const absl::StatusOr<Flow> flow = One(*statement, frame, out);
    if (!flow.ok()) return Located(statement->line, flow.status());
    if (*flow != Flow::kOn) return *flow;
  }
  return Flow::kOn;
}

absl::StatusOr<Evaluator::Flow> Evaluator::One(const Statement& statement, Frame& frame,
                                               std::string& out) {
  switch (statement.kind) {
    case Kind::kText:
      ONWARD_RETURN_IF_ERROR(Append(statement.text, out));
      return Flow::kOn;
    case Kind::kOutput: {
      ONWARD_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.exprs[0], frame));
      ONWARD_RETURN_IF_ERROR(Write(value, out));
      return Flow::kOn;
    }
    case Kind::kIf:
      return If(statement, frame, out);
    case Kind::kFor:
      return For(statement, frame, out);
    case Kind::kSet: {
      ONWARD_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.exprs[0], frame));
      ONWARD_RETURN_IF_ERROR(Assign(statement.targets[0], value, frame));
      return Flow::kOn;
    }
    case Kind::kMacro: {
      ONWARD_ASSIGN_OR_RETURN(frame.slots[statement.slot.index],
                              MakeMacro(statement, frames_.back()));
      return Flow::kOn;
    }
    case Kind::kCallBlock: {
      ONWARD_ASSIGN_OR_RETURN(const Value caller, MakeMacro(statement, frames_.back()));
      const absl::StatusOr<Value> made = Call(*statement.exprs[0], frame, &caller);
      if (!made.ok()) return made.status();
      ONWARD_RETURN_IF_ERROR(Write(*made, out));
      return Flow::kOn;
    }
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
    default:
      return With(statement, frame, out);
  }
}

absl::StatusOr<Evaluator::Flow> Evaluator::If(const Statement& statement, Frame& frame,
                                              std::string& out) {
  for (size_t i = 0; i < statement.exprs.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.exprs[i], frame));
    if (condition.IsTrue()) return Execute(statement.bodies[i], frame, out);
  }
  if (statement.bodies.size() == statement.exprs.size()) return Flow::kOn;
  return Execute(statement.bodies.back(), frame, out);
}

// Blocks with a scope of their own.
absl::StatusOr<Evaluator::Flow> Evaluator::With(const Statement& statement, Frame& frame,
                                                std::string& out) {
  const FramePtr inner = Enter(statement.scopes[0], &frame);
  frames_.push_back(inner);
  if (statement.kind == Kind::kWith) {
    for (size_t i = 0; i < statement.targets.size(); ++i) {
      ONWARD_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.exprs[i], frame));
      ONWARD_RETURN_IF_ERROR(Assign(statement.targets[i], value, *inner));
    }
    ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.bodies[0], *inner, out));
    frames_.pop_back();
    return flow;
  }
  std::string text;
  ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.bodies[0], *inner, text));
  const Expr* filters = statement.exprs.empty() ? nullptr : statement.exprs[0].get();
  ONWARD_ASSIGN_OR_RETURN(const Value value, Filtered(filters, *inner, std::move(text)));
  frames_.pop_back();
  if (statement.kind == Kind::kBlockSet) {
    ONWARD_RETURN_IF_ERROR(Assign(statement.targets[0], value, frame));
  } else {
    ONWARD_RETURN_IF_ERROR(Write(value, out));
  }
  return flow;
}

absl::Status Evaluator::Assign(const Target& target, const Value& value, Frame& frame) {
  if (target.kind == Target::Kind::kTuple) {
    ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering_, value));
    if (items.size() != target.parts.size())
      return absl::InvalidArgumentError(
          absl::StrCat(items.size(), " values are given to ", target.parts.size(), " names"));
    for (size_t i = 0; i < items.size(); ++i)
      ONWARD_RETURN_IF_ERROR(Assign(target.parts[i], items[i], frame));
    return absl::OkStatus();
  }
  Frame* scope = &frame;
  for (int up = target.slot.up; up > 0; --up) scope = scope->around;
  std::optional<Value>& slot = scope->slots[target.slot.index];
  if (target.kind == Target::Kind::kName) {
    slot = value;
    return absl::OkStatus();
  }
  auto* const* space = slot.has_value() ? slot->As<Namespace*>() : nullptr;
  if (space == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("'", target.name,
                     "' is not a namespace; only attributes of namespaces can be assigned to"));
  return (*space)->attributes.Set(Value(target.attribute), value);
}

absl::StatusOr<Values> Evaluator::Chosen(const Statement& statement, Values items, Frame& frame) {
  if (statement.exprs[1] == nullptr) return items;
  Values made;
  for (Value& item : items) {
    const FramePtr inner = Enter(statement.scopes[2], &frame);
    ONWARD_RETURN_IF_ERROR(Assign(statement.targets[1], item, *inner));
    ONWARD_ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.exprs[1], *inner));
    if (condition.IsTrue()) made.push_back(std::move(item));
  }
  return made;
}

absl::Status Evaluator::Turns(const Statement& statement, Values items, Frame& frame,
                              std::string& out, bool& finished_one) {
  const int depth = DepthOf(items);
  auto loop = std::make_shared<LoopState>(LoopState{std::move(items), depth});
  const Scope& scope = statement.scopes[0];
  const auto entry = std::find_if(scope.entries.begin(), scope.entries.end(),
                                  [](const Scope::Entry& row) { return row.name == "loop"; });
  for (; loop->index < loop->items.size(); ++loop->index) {
    ONWARD_RETURN_IF_ERROR(rendering_.Charge(64 + scope.entries.size() * sizeof(Value)));
    const FramePtr inner = Enter(scope, &frame);
    frames_.push_back(inner);
    if (statement.has_loop)
      inner->slots[static_cast<size_t>(entry - scope.entries.begin())] =
          Value(Value::Payload(loop));
    ONWARD_RETURN_IF_ERROR(Assign(statement.targets[0], loop->items[loop->index], *inner));
    ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.bodies[0], *inner, out));
    frames_.pop_back();
    if (flow == Flow::kBreak) break;
    finished_one = finished_one || flow == Flow::kOn;
  }
  return absl::OkStatus();
}

absl::StatusOr<Evaluator::Flow> Evaluator::For(const Statement& statement, Frame& frame,
                                               std::string& out) {
  ONWARD_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.exprs[0], frame));
  ONWARD_ASSIGN_OR_RETURN(Values items, ItemsOf(rendering_, value));
  ONWARD_ASSIGN_OR_RETURN(items, Chosen(statement, std::move(items), frame));
  bool finished_one = false;
  ONWARD_RETURN_IF_ERROR(Turns(statement, std::move(items), frame, out, finished_one));
  // As in Jinja, where turns that end by break or continue do not count.
  if (finished_one) return Flow::kOn;
  const FramePtr inner = Enter(statement.scopes[1], &frame);
  frames_.push_back(inner);
  ONWARD_ASSIGN_OR_RETURN(const Flow flow, Execute(statement.bodies[1], *inner, out));
  frames_.pop_back();
  return flow;
}

}  // namespace onward::chat_template
