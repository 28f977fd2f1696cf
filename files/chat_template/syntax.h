// The syntax tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/chat_template/value.h"

namespace onward::chat_template {

// The place of a name's value: in the scope that is `up` levels out.
struct Slot {
  int up = 0;
  size_t index = 0;
};

struct Expr {
  enum class Kind {
    kConstant,
    kName,
    kList,
    kTuple,
    kDict,       // keys and values in turn
    kAttribute,  // of the child
    kItem,       // the child at the second
    kSlice,      // the child, then three that may be null
    kCall,       // the child with `call`
    kFilter,     // of the child, which is null for the text of a block
    kTest,
    kNot,
    kAnd,
    kOr,
    kCondition,  // condition, then, otherwise (may be null)
    kCompare,    // children one more than operators
    kConcat,
    kUnary,   // by `name`
    kBinary,  // by `name`
  };
  Kind kind;
  int line;
  std::string name;  // of a variable, attribute, filter, test, operator
  std::vector<std::unique_ptr<Expr>> children;
  std::vector<std::string> names;  // operators; of arguments, "" for those by position, "*", "**"
  std::vector<std::unique_ptr<Expr>> arguments;
  Value constant;
  Slot slot;
  int depth = 0;
};
using ExprPtr = std::unique_ptr<Expr>;

// The target of an assignment: a name, several, or a namespace's attribute.
struct Target {
  enum class Kind { kName, kTuple, kAttribute };
  Kind kind = Kind::kName;
  int line = 0;
  std::string name, attribute;
  std::vector<Target> parts;
  Slot slot;
};

// A scope's variables, and what they are when it begins.
struct Scope {
  enum class Load { kParameter, kOuter, kVariable, kUndefined };
  struct Entry {
    std::string name;
    Load load;
    Slot outer;  // of kOuter, seen from the scope around
  };
  std::vector<Entry> entries;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  enum class Kind {
    kText,
    kOutput,
    kIf,         // exprs: conditions; bodies: one each and what is otherwise
    kFor,        // exprs: what to go through, the condition (may be null); bodies: each turn, none
    kSet,        // targets, exprs
    kBlockSet,   // exprs: filters (may be null); bodies
    kMacro,      // targets: parameters; exprs: defaults of the last ones
    kCallBlock,  // exprs: the call, defaults; a macro without a name
    kFilterBlock,
    kWith,        // targets, exprs
    kGeneration,  // what a model is to learn
    kBreak,
    kContinue
  };
  Kind kind;
  int line;
  std::string text;  // data; a macro's name
  Slot slot;         // of a macro's name
  std::vector<Target> targets;
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
  std::vector<Scope> scopes;  // of bodies that have their own; a loop's third is its condition's
  // Which of a macro's special variables its body has.
  bool has_caller = false, has_varargs = false, has_kwargs = false;
  bool has_loop = false;  // the body reads `loop`
};

struct Syntax {
  Body body;
  Scope scope;
};

}  // namespace onward::chat_template
