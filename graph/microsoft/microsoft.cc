#include "graph/microsoft/microsoft.h"

#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

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
    microsoft::RecurrentOps,             //
    microsoft::ResizeOps,                //
    microsoft::RotaryEmbeddingOps,       //
    microsoft::SignalOps,                //
    microsoft::SoftmaxOps,               //
    microsoft::StringOps,                //
};

}  // namespace

std::vector<onnx::OpSchema> MicrosoftSchemas() {
  return FormulaSchemas(kMicrosoftDomain, kFamilies);
}

}  // namespace onward
