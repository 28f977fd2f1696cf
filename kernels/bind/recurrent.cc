#include "kernels/bind/recurrent.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/check_dims.h"

namespace onward::kernels {
namespace {

// Defaults are those of the ops of the same names. `parameters`: how many of alpha and beta it has.
struct ActivationRow {
  const char* name;
  GateFunction kind;
  int parameters;
  float alpha;
  float beta;
};
constexpr ActivationRow kActivations[] = {
    {"relu", GateFunction::kRelu, 0, 0.0f, 0.0f},
    {"tanh", GateFunction::kTanh, 0, 0.0f, 0.0f},
    {"sigmoid", GateFunction::kSigmoid, 0, 0.0f, 0.0f},
    {"affine", GateFunction::kAffine, 2, 1.0f, 0.0f},
    {"leakyrelu", GateFunction::kLeakyRelu, 1, 0.01f, 0.0f},
    {"thresholdedrelu", GateFunction::kThresholdedRelu, 1, 1.0f, 0.0f},
    {"scaledtanh", GateFunction::kScaledTanh, 2, 1.0f, 1.0f},
    {"hardsigmoid", GateFunction::kHardSigmoid, 2, 0.2f, 0.5f},
    {"elu", GateFunction::kElu, 1, 1.0f, 0.0f},
    {"softsign", GateFunction::kSoftsign, 0, 0.0f, 0.0f},
    {"softplus", GateFunction::kSoftplus, 0, 0.0f, 0.0f},
};

constexpr const char* kDefaults[3][3] = {
    {"tanh", "", ""}, {"sigmoid", "tanh", ""}, {"sigmoid", "tanh", "tanh"}};

absl::Status ParseActivations(const NodeSpec& spec, RecurrentAttributes& result) {
  std::vector<std::string> names = spec.attributes().Strings("activations");
  const size_t functions = static_cast<size_t>(result.functions());
  const size_t wanted = functions * static_cast<size_t>(result.directions);
  if (names.empty()) {
    for (size_t i = 0; i < wanted; ++i)
      names.emplace_back(kDefaults[static_cast<size_t>(result.op)][i % functions]);
  }
  if (names.size() == functions && wanted > functions)
    names.insert(names.end(), names.begin(), names.begin() + static_cast<int64_t>(functions));
  if (names.size() < wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("activations has ", names.size(), " names, expected ", wanted));
  }
  const std::vector<float> alphas = spec.attributes().Floats("activation_alpha");
  const std::vector<float> betas = spec.attributes().Floats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < wanted; ++i) {
    const std::string name = absl::AsciiStrToLower(names[i]);
    const ActivationRow* row = nullptr;
    for (const ActivationRow& candidate : kActivations) {
      if (name == candidate.name) row = &candidate;
    }
    if (row == nullptr)
      return absl::InvalidArgumentError(absl::StrCat("unknown activation '", names[i], "'"));
    RecurrentActivation activation = {row->kind, row->alpha, row->beta};
    if (row->parameters > 0 && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (row->parameters > 1 && beta < betas.size()) activation.beta = betas[beta++];
    result.activations.push_back(activation);
  }
  return absl::OkStatus();
}

absl::Status CheckIfGiven(const char* name, const DimsView* dims, DimsView expected) {
  return dims == nullptr ? absl::OkStatus() : CheckDims(name, *dims, expected);
}

}  // namespace

absl::StatusOr<RecurrentAttributes> RecurrentAttributes::Parse(const NodeSpec& spec,
                                                               RecurrentOp op) {
  const Attributes& attributes = spec.attributes();
  RecurrentAttributes result;
  result.op = op;
  result.hidden_size = attributes.Int("hidden_size", 0);
  const std::string direction = attributes.String("direction", "forward");
  if (direction == "bidirectional") {
    result.directions = 2;
  } else if (direction == "reverse") {
    result.first_reversed = true;
  } else if (direction != "forward") {
    return absl::InvalidArgumentError(
        absl::StrCat("direction is '", direction, "', must be forward, reverse or bidirectional"));
  }
  const int64_t layout = attributes.Int("layout", 0);
  if (layout != 0 && layout != 1)
    return absl::InvalidArgumentError(absl::StrCat("layout is ", layout, ", expected 0 or 1"));
  result.batch_first = layout == 1;
  result.linear_before_reset = attributes.Int("linear_before_reset", 0) != 0;
  result.input_forget = attributes.Int("input_forget", 0) != 0;
  const float clip = attributes.Float("clip", 0.0f);
  if (!(clip >= 0.0f))
    return absl::InvalidArgumentError(absl::StrCat("clip is ", clip, ", must be at least 0"));
  if (clip > 0.0f) result.clip = clip;
  ONWARD_RETURN_IF_ERROR(ParseActivations(spec, result));
  return result;
}

Dims RecurrentGeometry::YDims(const RecurrentAttributes& attributes) const {
  if (attributes.batch_first) return {batch, steps, attributes.directions, hidden};
  return {steps, attributes.directions, batch, hidden};
}

Dims RecurrentGeometry::HDims(const RecurrentAttributes& attributes) const {
  if (attributes.batch_first) return {batch, attributes.directions, hidden};
  return {attributes.directions, batch, hidden};
}

absl::StatusOr<RecurrentGeometry> RecurrentDims(const RecurrentAttributes& attributes,
                                                const RecurrentInputs& inputs) {
  const int64_t directions = attributes.directions, gates = attributes.gates();
  if (inputs.x.size() != 3 || inputs.w.size() != 3 || inputs.r.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(inputs.x), ", W ",
                                                   DimsString(inputs.w), " and R ",
                                                   DimsString(inputs.r), " must have rank 3"));
  }
  RecurrentGeometry g;
  g.steps = inputs.x[attributes.batch_first ? 1 : 0];
  g.batch = inputs.x[attributes.batch_first ? 0 : 1];
  g.input = inputs.x[2];
  g.hidden = inputs.r[2];
  if (attributes.hidden_size != 0 && attributes.hidden_size != g.hidden) {
    return absl::InvalidArgumentError(
        absl::StrCat("hidden_size is ", attributes.hidden_size, ", R's is ", g.hidden));
  }
  ONWARD_RETURN_IF_ERROR(CheckDims("W", inputs.w, {directions, gates * g.hidden, g.input}));
  ONWARD_RETURN_IF_ERROR(CheckDims("R", inputs.r, {directions, gates * g.hidden, g.hidden}));
  ONWARD_RETURN_IF_ERROR(CheckIfGiven("B", inputs.bias, {directions, 2 * gates * g.hidden}));
  ONWARD_RETURN_IF_ERROR(CheckIfGiven("sequence_lens", inputs.sequence_lens, {g.batch}));
  ONWARD_RETURN_IF_ERROR(CheckIfGiven("P", inputs.peepholes, {directions, 3 * g.hidden}));
  const Dims h = g.HDims(attributes);
  ONWARD_RETURN_IF_ERROR(CheckIfGiven("initial_h", inputs.initial_h, h));
  ONWARD_RETURN_IF_ERROR(CheckIfGiven("initial_c", inputs.initial_c, h));
  const Dims work = {g.steps + 1, g.batch, 4 * directions, g.hidden};
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kFloat64, work).status());
  const bool batch_first = attributes.batch_first;
  g.x_step = batch_first ? g.input : g.batch * g.input;
  g.x_batch = batch_first ? g.steps * g.input : g.input;
  g.y_step = directions * g.hidden * (batch_first ? 1 : g.batch);
  g.y_direction = batch_first ? g.hidden : g.batch * g.hidden;
  g.y_batch = batch_first ? g.steps * directions * g.hidden : g.hidden;
  g.h_direction = batch_first ? g.hidden : g.batch * g.hidden;
  g.h_batch = batch_first ? directions * g.hidden : g.hidden;
  return g;
}

absl::StatusOr<RecurrentGeometry> BindRecurrent(const RecurrentAttributes& attributes,
                                                BindContext& context) {
  DimsView dims[8];
  const auto optional = [&](int i) -> const DimsView* {
    if (!context.has_input(i)) return nullptr;
    dims[i] = context.input_dims(i);
    return &dims[i];
  };
  const RecurrentInputs inputs = {
      context.input_dims(0), context.input_dims(1), context.input_dims(2), optional(3),
      optional(4),           optional(5),           optional(6),           optional(7)};
  ONWARD_ASSIGN_OR_RETURN(const RecurrentGeometry g, RecurrentDims(attributes, inputs));
  for (int i = 0; i < context.num_outputs(); ++i)
    context.SetOutput(i, i == 0 ? g.YDims(attributes) : g.HDims(attributes));
  return g;
}

absl::Status CheckSequenceLens(absl::Span<const int32_t> lens, int64_t steps) {
  for (size_t i = 0; i < lens.size(); ++i) {
    if (lens[i] < 0 || lens[i] > steps) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence_lens[", i, "] is ", lens[i], ", expected 0 to ", steps));
    }
  }
  return absl::OkStatus();
}

}  // namespace onward::kernels
