// The inputs that the command line feeds to a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "onward/session.h"
#include "training/data/model_notes.h"

namespace onward::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE, NAME=1,2,3 or FILE.npz
  std::vector<std::string> shapes;  // NAME=1x3x224x224
  bool random = false;
  uint64_t seed = 0;
  // The preparation of image files; none: their pixels are taken as 0 to 255.
  std::optional<training::ImageNote> image;
};

// Adds --input, --random and --shape. The options must outlive the parsing.
void AddInputOptions(Command& command, InputOptions& options);

// Reads, parses or draws every input of the model. An input that is neither given nor optional is
// an error unless `random`. Drawn inputs take the sizes of symbols from the shapes and inputs that
// are given; the symbols that are left count as 1 and go to `taken_as_one`, as does the name of an
// input of unknown rank, which is drawn as a scalar.
absl::StatusOr<Session::Inputs> MakeInputs(const std::vector<ValueInfo>& declared,
                                           const InputOptions& options,
                                           std::vector<std::string>* taken_as_one = nullptr);

// InvalidArgument names an input that is missing and how the command line gives it, which the
// session cannot say.
absl::Status CheckAllGiven(const std::vector<ValueInfo>& declared, const Session::Inputs& inputs);

// The dims of --shape by the input's name. InvalidArgument: no such input, with the closest name.
absl::StatusOr<std::map<std::string, Dims>> ParseShapes(const std::vector<ValueInfo>& declared,
                                                        const std::vector<std::string>& shapes);

// Says on stderr which symbols were taken as 1, if any were.
void NoteTakenAsOne(const std::vector<std::string>& symbols);

// "1x3x224x224" (or with commas).
absl::StatusOr<Dims> ParseDims(const std::string& text);

// Elements drawn from a generator that is the same on every machine: floats in [0, 1), integers in
// {0, 1}.
Tensor RandomTensor(DType dtype, DimsView dims, uint64_t seed);

}  // namespace onward::cli
