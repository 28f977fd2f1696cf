// A model that is ready to be trained.
#pragma once

#include <string>
#include <vector>

#include "onward/graph.h"

namespace onward::training {

// In inference form; its metadata, notes and outputs are those of the source.
struct TrainableModel {
  Model model;
  std::vector<std::string> initializers;  // names of its weights
};

}  // namespace onward::training
