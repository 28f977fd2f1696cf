// Which variable a name is, by Jinja's rules: a scope has a variable of its own for each name that
// it assigns to, which begins as the outer one or, where only some branches assign, as what the
// caller gave. A name that a scope assigns to before it is read there is not what the caller gave.
#include <map>
#include <optional>
#include <set>

#include "files/chat_template/parser.h"

namespace onward::chat_template {
namespace {

using Kind = Statement::Kind;
using Load = Scope::Load;

struct Variable {
  Load load;
  Slot outer;
};

class Symbols {
 public:
  explicit Symbols(const Symbols* around) : around_(around) {}

  std::optional<Slot> Find(const std::string& name) const {
    int up = 0;
    for (const Symbols* scope = this; scope != nullptr; scope = scope->around_, ++up) {
      const auto found = scope->places_.find(name);
      if (found != scope->places_.end()) return Slot{up, found->second};
    }
    return std::nullopt;
  }

  void Read(const std::string& name) {
    if (!Find(name).has_value()) Define(name, {Load::kVariable, {}});
  }
  void Write(const std::string& name) {
    written_.insert(name);
    if (places_.count(name) > 0) return;
    Define(name, Outer(name).value_or(Variable{Load::kUndefined, {}}));
  }
  void Parameter(const std::string& name) {
    written_.insert(name);
    Define(name, {Load::kParameter, {}});
  }

  // The branches of an `if`, each of which began as a copy of this.
  void Join(const std::vector<Symbols>& branches) {
    std::set<std::string> written;
    for (const Symbols& branch : branches)
      for (const std::string& name : branch.written_)
        if (written_.count(name) == 0) written.insert(name);
    for (const Symbols& branch : branches) {
      for (const auto& [name, place] : branch.places_) Define(name, branch.variables_[place]);
      written_.insert(branch.written_.begin(), branch.written_.end());
    }
    for (const std::string& name : written)
      Define(name, Outer(name).value_or(Variable{Load::kVariable, {}}));
  }

  Scope Made() const {
    Scope made;
    made.entries.resize(variables_.size());
    for (const auto& [name, place] : places_)
      made.entries[place] = {name, variables_[place].load, variables_[place].outer};
    return made;
  }

 private:
  std::optional<Variable> Outer(const std::string& name) const {
    const auto found = around_ == nullptr ? std::nullopt : around_->Find(name);
    if (!found.has_value()) return std::nullopt;
    return Variable{Load::kOuter, *found};
  }
  void Define(const std::string& name, Variable variable) {
    const auto [it, added] = places_.emplace(name, variables_.size());
    if (added) {
      variables_.push_back(variable);
    } else {
      variables_[it->second] = variable;
    }
  }

  const Symbols* around_;
  std::map<std::string, size_t> places_;
  std::vector<Variable> variables_;
  std::set<std::string> written_;
};

// First pass over a scope: which names it reads and assigns to, inner scopes aside.

void Survey(const Expr* expr, Symbols& symbols) {
  if (expr == nullptr) return;
  if (expr->kind == Expr::Kind::kName) symbols.Read(expr->name);
  for (const ExprPtr& child : expr->children) Survey(child.get(), symbols);
  for (const ExprPtr& argument : expr->arguments) Survey(argument.get(), symbols);
}

void Survey(const Target& target, bool parameter, Symbols& symbols) {
  if (target.kind == Target::Kind::kAttribute) {
    symbols.Read(target.name);
  } else if (target.kind == Target::Kind::kTuple) {
    for (const Target& part : target.parts) Survey(part, parameter, symbols);
  } else if (parameter) {
    symbols.Parameter(target.name);
  } else {
    symbols.Write(target.name);
  }
}

void Survey(const Body& body, Symbols& symbols);

// An elif is an `if` in the else branch of those before it.
void SurveyBranches(const Statement& statement, Symbols& symbols) {
  Survey(statement.exprs[0].get(), symbols);
  std::vector<Symbols> branches(1, symbols);
  Survey(statement.bodies[0], branches[0]);
  branches.push_back(symbols);
  for (size_t i = 1; i < statement.exprs.size(); ++i) {
    Survey(statement.exprs[i].get(), branches[1]);
    std::vector<Symbols> inner(1, branches[1]);
    Survey(statement.bodies[i], inner[0]);
    branches[1].Join(inner);
  }
  branches.push_back(symbols);
  if (statement.bodies.size() > statement.exprs.size())
    Survey(statement.bodies.back(), branches[2]);
  symbols.Join(branches);
}

void Survey(const Statement& statement, Symbols& symbols) {
  switch (statement.kind) {
    case Kind::kIf:
      return SurveyBranches(statement, symbols);
    case Kind::kFor:
    case Kind::kCallBlock:
      return Survey(statement.exprs[0].get(), symbols);
    case Kind::kMacro:
      return symbols.Write(statement.text);
    case Kind::kBlockSet:
      return Survey(statement.targets[0], false, symbols);
    case Kind::kSet:
    case Kind::kOutput:
    case Kind::kFilterBlock:
    case Kind::kWith:
      for (const ExprPtr& expr : statement.exprs) Survey(expr.get(), symbols);
      if (statement.kind == Kind::kSet) Survey(statement.targets[0], false, symbols);
      return;
    default:
      return;
  }
}

void Survey(const Body& body, Symbols& symbols) {
  for (const auto& statement : body) Survey(*statement, symbols);
}

// Returns whether a name is read anywhere in a body, inner scopes included.
bool Reads(const Expr* expr, const std::string& name) {
  if (expr == nullptr) return false;
  if (expr->kind == Expr::Kind::kName && expr->name == name) return true;
  for (const auto* list : {&expr->children, &expr->arguments})
    for (const ExprPtr& child : *list)
      if (Reads(child.get(), name)) return true;
  return false;
}

bool Reads(const Body& body, const std::string& name) {
  for (const auto& statement : body) {
    for (const ExprPtr& expr : statement->exprs)
      if (Reads(expr.get(), name)) return true;
    for (const Body& inner : statement->bodies)
      if (Reads(inner, name)) return true;
  }
  return false;
}

// Second pass: the slots, scope by scope.

void Resolve(Expr* expr, const Symbols& symbols) {
  if (expr == nullptr) return;
  if (expr->kind == Expr::Kind::kName) expr->slot = *symbols.Find(expr->name);
  for (const ExprPtr& child : expr->children) Resolve(child.get(), symbols);
  for (const ExprPtr& argument : expr->arguments) Resolve(argument.get(), symbols);
}

void Resolve(Target& target, const Symbols& symbols) {
  for (Target& part : target.parts) Resolve(part, symbols);
  if (target.kind != Target::Kind::kTuple) target.slot = *symbols.Find(target.name);
}

void Resolve(Body& body, const Symbols& symbols);

void ResolveLoop(Statement& loop, const Symbols& symbols) {
  Resolve(loop.exprs[0].get(), symbols);
  Symbols turn(&symbols), otherwise(&symbols), condition(&symbols);
  loop.has_loop = Reads(loop.bodies[0], "loop");
  if (loop.has_loop) turn.Parameter("loop");
  Survey(loop.targets[0], true, turn);
  Survey(loop.bodies[0], turn);
  Survey(loop.bodies[1], otherwise);
  Survey(loop.targets[0], true, condition);
  Survey(loop.exprs[1].get(), condition);
  loop.scopes = {turn.Made(), otherwise.Made(), condition.Made()};
  // The condition's scope has the targets at the same names, found again when it is evaluated.
  loop.targets.push_back(loop.targets[0]);
  Resolve(loop.targets[0], turn);
  Resolve(loop.targets[1], condition);
  Resolve(loop.exprs[1].get(), condition);
  Resolve(loop.bodies[0], turn);
  Resolve(loop.bodies[1], otherwise);
}

// A macro's body, or a call's, which is a macro without a name: `first` of the expressions is not a
// default.
void ResolveMacro(Statement& macro, size_t first, const Symbols& symbols) {
  Symbols inner(&symbols);
  for (const Target& parameter : macro.targets) Survey(parameter, true, inner);
  for (size_t i = first; i < macro.exprs.size(); ++i) Survey(macro.exprs[i].get(), inner);
  Survey(macro.bodies[0], inner);
  const auto special = [&](const char* name) {
    if (!Reads(macro.bodies[0], name)) return false;
    for (const Target& parameter : macro.targets)
      if (parameter.name == name) return false;
    inner.Parameter(name);
    return true;
  };
  macro.has_caller = special("caller");
  macro.has_kwargs = special("kwargs");
  macro.has_varargs = special("varargs");
  macro.scopes = {inner.Made()};
  for (Target& parameter : macro.targets) Resolve(parameter, inner);
  for (size_t i = first; i < macro.exprs.size(); ++i) Resolve(macro.exprs[i].get(), inner);
  Resolve(macro.bodies[0], inner);
}

void ResolveInner(Statement& statement, const Symbols& symbols) {
  Symbols inner(&symbols);
  const bool with = statement.kind == Kind::kWith;
  if (with)
    for (const Target& target : statement.targets) Survey(target, true, inner);
  if (statement.kind == Kind::kFilterBlock) Survey(statement.exprs[0].get(), inner);
  Survey(statement.bodies[0], inner);
  if (statement.kind == Kind::kBlockSet) Survey(statement.exprs[0].get(), inner);
  statement.scopes = {inner.Made()};
  if (with) {
    for (Target& target : statement.targets) Resolve(target, inner);
    for (const ExprPtr& value : statement.exprs) Resolve(value.get(), symbols);
  } else {
    for (Target& target : statement.targets) Resolve(target, symbols);
    for (const ExprPtr& expr : statement.exprs) Resolve(expr.get(), inner);
  }
  Resolve(statement.bodies[0], inner);
}

void Resolve(Body& body, const Symbols& symbols) {
  for (auto& statement : body) {
    switch (statement->kind) {
      case Kind::kFor:
        ResolveLoop(*statement, symbols);
        break;
      case Kind::kMacro:
        statement->slot = *symbols.Find(statement->text);
        ResolveMacro(*statement, 0, symbols);
        break;
      case Kind::kCallBlock:
        Resolve(statement->exprs[0].get(), symbols);
        ResolveMacro(*statement, 1, symbols);
        break;
      case Kind::kBlockSet:
      case Kind::kFilterBlock:
      case Kind::kWith:
      case Kind::kGeneration:
        ResolveInner(*statement, symbols);
        break;
      default:
        for (const ExprPtr& expr : statement->exprs) Resolve(expr.get(), symbols);
        for (Target& target : statement->targets) Resolve(target, symbols);
        for (Body& inner : statement->bodies) Resolve(inner, symbols);
    }
  }
}

}  // namespace

void FindVariables(Syntax& syntax) {
  Symbols symbols(nullptr);
  Survey(syntax.body, symbols);
  syntax.scope = symbols.Made();
  Resolve(syntax.body, symbols);
}

}  // namespace onward::chat_template
