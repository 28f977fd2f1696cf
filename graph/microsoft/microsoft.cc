#include "graph/microsoft/microsoft.h"

#include <cstdio>
#include <cstdlib>

#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

constexpr std::vector<FormulaOp> (*kFamilies[])() = {
    microsoft::ActivationOps,            //
    microsoft::AttentionOps,             //
    microsoft::ConvOps,                  //
    microsoft::ElementwiseOps,           //
    microsoft::GatherBlockQuantizedOps,  //
    microsoft::GatherScatterOps,         //
    microsoft::GroupQueryAttentionOps,   //
    microsoft::LayoutOps,                //
    microsoft::LinearAttentionOps,       //
    microsoft::MatMulNBitsOps,           //
    microsoft::MatMulOps,                //
    microsoft::MoEOps,                   //
    microsoft::MultiHeadAttentionOps,    //
    microsoft::NhwcOps,                  //
    microsoft::NormalizationOps,         //
    microsoft::PackedAttentionOps,       //
    microsoft::QLinearOps,               //
    microsoft::QuantizeOps,              //
    microsoft::ResizeOps,                //
    microsoft::RotaryEmbeddingOps,       //
    microsoft::SignalOps,                //
    microsoft::SoftmaxOps,               //
};

}  // namespace

std::vector<onnx::OpSchema> MicrosoftSchemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const auto& family : kFamilies) {
    for (const FormulaOp& op : family()) {
      absl::StatusOr<onnx::OpSchema> schema = FormulaSchema(kMicrosoftDomain, op);
      // A wrong row of our own table; every test of an op would meet it.
      if (!schema.ok()) {
        std::fprintf(stderr, "%s\n", std::string(schema.status().message()).c_str());
        std::abort();
      }
      schemas.push_back(*std::move(schema));
    }
  }
  return schemas;
}

}  // namespace onward
