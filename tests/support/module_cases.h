// The modules of tests/training/modules/make_cases.py, in C++.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onward/nn/module.h"

namespace onward::testing {

using MakeModule = std::function<std::vector<Expr>(nn::Module& root, const std::vector<Expr>& x)>;

void AddAttentionCases(std::map<std::string, MakeModule>& cases);

// By the name of the case.
std::map<std::string, MakeModule> ModuleCases();

}  // namespace onward::testing
