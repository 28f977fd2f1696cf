// Small decoders in the forms in which they come.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onward/models.h"
#include "tests/generation/exported_decoder.h"
#include "training/prepare/state_dict.h"

namespace onward::testing {

// The form of the model: it sees everything in each step, or continues from a cache, any number
// of tokens at a time or one of one row; the cache grows or is written in place.
enum class Form { kWhole, kCache, kOneByOne, kFixed, kFixedOneByOne };

inline void MakeOneByOne(Graph& graph) {
  for (const ValueId id : graph.inputs()) {
    SymbolicDims& dims = *GraphEdit(graph).type(id).shape;
    dims[0] = Dim(1);
    if (graph.value(id).name == "tokens") dims[1] = Dim(1);
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    if (graph.value({i}).producer.valid()) GraphEdit(graph).type({i}) = {};
  }
  EXPECT_TRUE(InferGraph(graph).ok());
}

// The GPT-2 of make_cases.py, a vocabulary of 13 and a context of 32.
inline Model GptModel(Form form) {
  std::map<std::string, double> options = {
      {"vocabulary", 13}, {"layers", 2}, {"heads", 2},  {"width", 8},
      {"context", 32},    {"tied", 0},   {"double", 1},
  };
  options["cache"] = form != Form::kWhole;
  auto model = BuildModel("gpt", options);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto weights =
      files::ReadNpz(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/weights.npz"));
  EXPECT_TRUE(weights.ok()) << weights.status();
  training::LoadOptions load;
  load.renames = {{"^transformer\\.", ""}};
  load.transposed = {"*.c_attn.weight", "*.c_proj.weight", "*.c_fc.weight"};
  const auto loaded = training::LoadStateDict(*model, *weights, load);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (form == Form::kOneByOne || form == Form::kFixedOneByOne) MakeOneByOne(model->graph);
  return *std::move(model);
}

// As ExportedDecoder.
inline Model ExportedModel(Positions positions, bool masked, const DecoderSizes& sizes = {}) {
  auto model = ExportedDecoder(positions, masked, sizes);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

}  // namespace onward::testing
