// Ops defined by a formula: what they compute, written once in expressions of other ops. Their
// types follow from the formula, and a node that no kernel takes is replaced by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/expr.h"
#include "onward/functions.h"

namespace onward {

// One call of such an op, as its formula sees it.
class FormulaCall {
 public:
  FormulaCall(ExprSink& sink, std::vector<Expr> inputs, std::vector<bool> wanted,
              Attributes attributes)
      : sink_(sink),
        inputs_(std::move(inputs)),
        wanted_(std::move(wanted)),
        attributes_(std::move(attributes)) {}

  ExprSink& sink() const { return sink_; }
  size_t num_inputs() const { return inputs_.size(); }
  // An omitted one is not valid().
  Expr input(size_t index) const { return index < inputs_.size() ? inputs_[index] : Expr(); }
  bool has_input(size_t index) const { return input(index).valid(); }
  size_t num_outputs() const { return wanted_.size(); }
  bool wants_output(size_t index) const { return index < wanted_.size() && wanted_[index]; }

  // With the schema's defaults filled in.
  const Attributes& attributes() const { return attributes_; }
  bool Has(std::string_view attribute) const { return attributes_.Has(attribute); }
  // A size, count, axis or switch, so that sums and products of two do not overflow: the formula
  // fails for a number that 32 bits do not hold, and 1 is returned then. See attributes() for
  // others.
  int64_t Int(std::string_view attribute) const;
  float Float(std::string_view attribute) const { return attributes_.Float(attribute, 0); }
  std::string String(std::string_view attribute) const { return attributes_.String(attribute); }

  // Facts that only the types can tell. Where they do not, the formula cannot be written here: it
  // fails with FailedPrecondition, which leaves the outputs' types open during inference and is an
  // error where the formula is to stand in for the node. 0 then.
  int64_t Rank(size_t input) const;
  int64_t Dim(size_t input, int64_t axis) const;  // `axis` may count from the end

  // The model does not keep to the op's rules.
  void Fail(std::string message) const;

 private:
  ExprSink& sink_;
  std::vector<Expr> inputs_;
  std::vector<bool> wanted_;
  Attributes attributes_;
};

// Returns the outputs in order; those that are not wanted may be empty or left out at the end.
using Formula = std::vector<Expr> (*)(const FormulaCall& call);

}  // namespace onward
