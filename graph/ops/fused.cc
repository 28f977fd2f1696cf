// Products and normalizations with what commonly surrounds them.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ops/activation.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace onward {

namespace {

using onnx::AttributeProto;
using onnx::FunctionBodyBuildContext;
using onnx::FunctionBuilder;
using onnx::FunctionProto;
using onnx::InferenceContext;
using onnx::OpSchema;

constexpr int kBodyOpset = 28;

std::string ActivationDoc() {
  std::string names;
  for (const ActivationRow& row : Activations())
    absl::StrAppend(&names, ", ", std::string(row.name));
  return absl::StrCat("What is applied to the sum: \"\" (nothing)", names,
                      ". clip is to [alpha, beta].");
}

void AddActivation(OpSchema& schema) {
  schema.Attr("activation", ActivationDoc(), AttributeProto::STRING, std::string());
  schema.Attr("activation_alpha", "First parameter of the activation.", AttributeProto::FLOAT,
              0.0f);
  schema.Attr("activation_beta", "Second parameter of the activation.", AttributeProto::FLOAT,
              0.0f);
}

void AddFloatTypes(OpSchema& schema) {
  schema.TypeConstraint("T",
                        {"tensor(float16)", "tensor(float)", "tensor(double)", "tensor(bfloat16)"},
                        "Float tensors.");
}

float FloatOf(const FunctionBodyBuildContext& ctx, const char* name, float otherwise) {
  const AttributeProto* attribute = ctx.getAttribute(name);
  return attribute == nullptr ? otherwise : attribute->f();
}

// Adds a scalar of the dtype of `like` and returns its name.
std::string AddScalar(const FunctionBodyBuildContext& ctx, FunctionBuilder& builder,
                      const std::string& name, float value, const std::string& like) {
  builder.Const(name, value);
  const onnx::TypeProto* type = ctx.getInputType(0);
  if (type != nullptr && type->tensor_type().elem_type() == onnx::TensorProto::FLOAT) return name;
  builder.Add(absl::StrCat(name, "_t = CastLike (", name, ", ", like, ")").c_str());
  return name + "_t";
}

// Adds the nodes from `from` to "Y". False for an unknown activation.
bool AddActivationBody(const FunctionBodyBuildContext& ctx, FunctionBuilder& builder,
                       const std::string& from) {
  const AttributeProto* attribute = ctx.getAttribute("activation");
  const std::string name = attribute == nullptr ? "" : attribute->s();
  if (name.empty()) {
    builder.Add(absl::StrCat("Y = Identity (", from, ")").c_str());
    return true;
  }
  const ActivationRow* row = FindActivation(name);
  if (row == nullptr) return false;
  std::vector<std::string> operands = {from}, attributes;
  if (row->kind == Activation::kClip) {
    operands.push_back(AddScalar(ctx, builder, "low", FloatOf(ctx, "activation_alpha", 0), from));
    operands.push_back(AddScalar(ctx, builder, "high", FloatOf(ctx, "activation_beta", 0), from));
  }
  if (!row->written.empty()) attributes.emplace_back(row->written);
  if (!row->alpha.attribute.empty())
    attributes.push_back(
        absl::StrCat(std::string(row->alpha.attribute), ": float = @activation_alpha"));
  if (!row->beta.attribute.empty())
    attributes.push_back(
        absl::StrCat(std::string(row->beta.attribute), ": float = @activation_beta"));
  const std::string listed =
      attributes.empty() ? "" : absl::StrCat("<", absl::StrJoin(attributes, ", "), "> ");
  builder.Add(absl::StrCat("Y = ", std::string(row->op), " ", listed, "(",
                           absl::StrJoin(operands, ", "), ")")
                  .c_str());
  return true;
}

bool FinishBody(const OpSchema& schema, FunctionProto& function, FunctionBuilder& builder) {
  builder.AddOpset("", kBodyOpset);
  schema.BuildFunction(function);
  return true;
}

OpSchema FusedConv() {
  OpSchema schema("FusedConv", __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc("Y = activation(Conv(X, W, B) + Z). Attributes are Conv's.");
  schema.Input(0, "X", "As Conv's.", "T");
  schema.Input(1, "W", "As Conv's.", "T");
  schema.Input(2, "B", "As Conv's.", "T", OpSchema::Optional);
  schema.Input(3, "Z", "Added before the activation; of the shape of Y.", "T", OpSchema::Optional);
  schema.Output(0, "Y", "The result.", "T");
  AddFloatTypes(schema);
  const OpSchema* conv = onnx::OpSchemaRegistry::Schema("Conv");
  for (const auto& [name, attribute] : conv->attributes()) schema.Attr(attribute);
  AddActivation(schema);
  schema.TypeAndShapeInferenceFunction(conv->GetTypeAndShapeInferenceFunction());
  schema.SetContextDependentFunctionBodyBuilder([](const FunctionBodyBuildContext& ctx,
                                                   const OpSchema& self, FunctionProto& function) {
    FunctionBuilder builder(function);
    builder.Add(
        absl::StrCat("product = Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, "
                     "group: int = @group, kernel_shape: ints = @kernel_shape, pads: ints = @pads, "
                     "strides: ints = @strides> (X, W",
                     ctx.hasInput(2) ? ", B)" : ")")
            .c_str());
    if (ctx.hasInput(3)) builder.Add("sum = Add (product, Z)");
    if (!AddActivationBody(ctx, builder, ctx.hasInput(3) ? "sum" : "product")) return false;
    return FinishBody(self, function, builder);
  });
  return schema;
}

void InferFusedMatMul(InferenceContext& ctx) {
  onnx::propagateElemTypeFromInputToOutput(ctx, 0, 0);
  if (!onnx::hasNInputShapes(ctx, 2)) return;
  onnx::TensorShapeProto operands[2];
  for (int i = 0; i < 2; ++i) {
    operands[i] = onnx::getInputShape(ctx, static_cast<size_t>(i));
    const int rank = operands[i].dim_size();
    if (rank < 2) fail_shape_inference("operand ", i, " has rank ", rank, ", at least 2 is needed");
    if (onnx::getAttribute(ctx, i == 0 ? "transA" : "transB", 0) != 0) {
      operands[i].mutable_dim()->SwapElements(rank - 1, rank - 2);
    }
  }
  const auto at_end = [&](int i, int back) {
    return operands[i].dim(operands[i].dim_size() - back);
  };
  const auto inner_a = at_end(0, 1), inner_b = at_end(1, 2);
  if (inner_a.has_dim_value() && inner_b.has_dim_value() &&
      inner_a.dim_value() != inner_b.dim_value()) {
    fail_shape_inference("inner dims ", inner_a.dim_value(), " and ", inner_b.dim_value(),
                         " differ");
  }
  const auto rows = at_end(0, 2), columns = at_end(1, 1);
  for (auto& shape : operands) shape.mutable_dim()->DeleteSubrange(shape.dim_size() - 2, 2);
  onnx::TensorShapeProto result;
  onnx::bidirectionalBroadcastShapeInference(operands[0], operands[1], result);
  *result.add_dim() = rows;
  *result.add_dim() = columns;
  onnx::updateOutputShape(ctx, 0, result);
}

// Adds "operand_t", the operand with its last two dims swapped.
bool AddSwapped(const FunctionBodyBuildContext& ctx, FunctionBuilder& builder, int operand) {
  const std::string name = operand == 0 ? "A" : "B";
  const onnx::TypeProto* type = ctx.getInputType(operand);
  if (type == nullptr || !type->tensor_type().has_shape()) return false;
  const int rank = type->tensor_type().shape().dim_size();
  std::string perm;
  for (int i = 0; i < rank - 2; ++i) absl::StrAppend(&perm, i, ", ");
  absl::StrAppend(&perm, rank - 1, ", ", rank - 2);
  builder.Add(
      absl::StrCat(name, "_t = Transpose <perm: ints = [", perm, "]> (", name, ")").c_str());
  return true;
}

bool FusedMatMulBody(const FunctionBodyBuildContext& ctx, const OpSchema& self,
                     FunctionProto& function) {
  FunctionBuilder builder(function);
  const auto swapped = [&](const char* name) {
    const AttributeProto* attribute = ctx.getAttribute(name);
    return attribute != nullptr && attribute->i() != 0;
  };
  const bool swap_a = swapped("transA"), swap_b = swapped("transB");
  if (swap_a && !AddSwapped(ctx, builder, 0)) return false;
  if (swap_b && !AddSwapped(ctx, builder, 1)) return false;
  builder.Add(
      absl::StrCat("product = MatMul (", swap_a ? "A_t" : "A", ", ", swap_b ? "B_t" : "B", ")")
          .c_str());
  std::string last = "product";
  const auto add = [&](const std::string& name, const std::string& call) {
    builder.Add(absl::StrCat(name, " = ", call).c_str());
    last = name;
  };
  if (const float alpha = FloatOf(ctx, "alpha", 1); alpha != 1) {
    const std::string factor = AddScalar(ctx, builder, "factor", alpha, "product");
    add("scaled", absl::StrCat("Mul (product, ", factor, ")"));
  }
  if (ctx.hasInput(2)) add("biased", absl::StrCat("Add (", last, ", bias)"));
  if (ctx.hasInput(3)) add("sum", absl::StrCat("Add (", last, ", residual)"));
  if (!AddActivationBody(ctx, builder, last)) return false;
  return FinishBody(self, function, builder);
}

OpSchema FusedMatMul() {
  OpSchema schema("FusedMatMul", __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc(
      "Y = activation(alpha * MatMul(A', B') + bias + residual), where A' and B' have their last "
      "two "
      "dims swapped as transA and transB say. A and B have at least two dims.");
  schema.Input(0, "A", "First operand.", "T");
  schema.Input(1, "B", "Second operand.", "T");
  schema.Input(2, "bias", "One element per column of Y: [N].", "T", OpSchema::Optional);
  schema.Input(3, "residual", "Of the shape of Y.", "T", OpSchema::Optional);
  schema.Output(0, "Y", "The result.", "T");
  AddFloatTypes(schema);
  schema.Attr("transA", "Whether A is transposed.", AttributeProto::INT, int64_t{0});
  schema.Attr("transB", "Whether B is transposed.", AttributeProto::INT, int64_t{0});
  schema.Attr("alpha", "Factor of the product.", AttributeProto::FLOAT, 1.0f);
  AddActivation(schema);
  schema.TypeAndShapeInferenceFunction(InferFusedMatMul);
  schema.SetContextDependentFunctionBodyBuilder(FusedMatMulBody);
  return schema;
}

// `normalization` is LayerNormalization or RMSNormalization.
OpSchema AddNormalization(const char* name, const std::string& normalization) {
  OpSchema schema(name, __FILE__, __LINE__);
  const bool has_bias = normalization == "LayerNormalization";
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc(absl::StrCat("Sum = X + Z; Y = ", normalization, "(Sum)."));
  schema.Input(0, "X", "First summand.", "T");
  schema.Input(1, "Z", "Second summand, of X's shape.", "T");
  schema.Input(2, "Scale", "As the normalization's.", "T");
  if (has_bias) schema.Input(3, "B", "As the normalization's.", "T", OpSchema::Optional);
  schema.Output(0, "Y", "The normalized sum.", "T");
  schema.Output(1, "Sum", "The sum.", "T", OpSchema::Optional);
  AddFloatTypes(schema);
  for (const auto& [key, attribute] : onnx::OpSchemaRegistry::Schema(normalization)->attributes()) {
    schema.Attr(attribute);
  }
  schema.TypeAndShapeInferenceFunction([](InferenceContext& ctx) {
    for (size_t i = 0; i < ctx.getNumOutputs(); ++i) {
      onnx::propagateElemTypeFromInputToOutput(ctx, 0, i);
      if (onnx::hasInputShape(ctx, 0)) onnx::propagateShapeFromInputToOutput(ctx, 0, i);
    }
  });
  schema.SetContextDependentFunctionBodyBuilder([normalization](const FunctionBodyBuildContext& ctx,
                                                                const OpSchema& self,
                                                                FunctionProto& function) {
    FunctionBuilder builder(function);
    builder.Add("Sum = Add (X, Z)");
    builder.Add(absl::StrCat("Y = ", normalization,
                             " <axis: int = @axis, epsilon: float = @epsilon, "
                             "stash_type: int = @stash_type> (Sum, Scale",
                             ctx.hasInput(3) ? ", B)" : ")")
                    .c_str());
    return FinishBody(self, function, builder);
  });
  return schema;
}

}  // namespace

std::vector<OpSchema> FusedSchemas() {
  return {FusedConv(), FusedMatMul(),
          AddNormalization("AddLayerNormalization", "LayerNormalization"),
          AddNormalization("AddRMSNormalization", "RMSNormalization")};
}

}  // namespace onward
