// One dimension of a value's type: a known size, an expression over named symbols, or unknown.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onward {

class Dim {
 public:
  Dim() = default;                       // unknown
  Dim(int64_t value) : value_(value) {}  // NOLINT: a number is a dim
  // `expression`: a symbol ("batch") or an expression over symbols ("past + 1") in canonical form.
  static Dim Symbol(std::string expression) {
    Dim dim;
    dim.expression_ = std::move(expression);
    return dim;
  }

  bool known() const { return value_ >= 0; }
  int64_t value() const { return value_; }
  bool symbolic() const { return !expression_.empty(); }
  const std::string& expression() const { return expression_; }
  bool unknown() const { return !known() && !symbolic(); }

  // Two unknown dims are equal as types but not known to be the same size.
  bool operator==(const Dim&) const = default;
  // Whether both are certainly the same size.
  bool SameAs(const Dim& other) const { return !unknown() && *this == other; }
  std::string ToString() const;  // "3", "batch", "past + 1", "?"

 private:
  int64_t value_ = -1;
  std::string expression_;
};

using SymbolicDims = std::vector<Dim>;

}  // namespace onward
