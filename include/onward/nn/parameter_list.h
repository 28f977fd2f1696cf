// Parameters without a module of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onward/nn/module.h"

namespace onward::nn {

// Named "0", "1", ...
class ParameterList : public Module {
 public:
  using Module::Module;
  Expr Add(DimsView dims, const Init& init) {
    parameters_.push_back(AddParameter(std::to_string(parameters_.size()), dims, init));
    return parameters_.back();
  }
  const Expr& operator[](size_t i) const { return parameters_[i]; }
  size_t size() const { return parameters_.size(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

 private:
  std::vector<Expr> parameters_;
};

// By name.
class ParameterDict : public Module {
 public:
  using Module::Module;
  Expr Add(const std::string& name, DimsView dims, const Init& init) {
    return parameters_[name] = AddParameter(name, dims, init);
  }
  const Expr& at(const std::string& name) const { return parameters_.at(name); }
  bool contains(const std::string& name) const { return parameters_.contains(name); }

 private:
  std::map<std::string, Expr> parameters_;
};

}  // namespace onward::nn
