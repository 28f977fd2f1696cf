#include "training/config/make_optimizer.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "training/config/kinds.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

// The fields of the chosen kind that are set: numbers, and switches as 0 or 1.
OptimizerOptions OptionsOf(const proto::Message& message) {
  OptimizerOptions options;
  const proto::FieldDescriptor* kind = KindOf(message);
  if (kind == nullptr) return options;
  const proto::Message& settings = message.GetReflection()->GetMessage(message, kind);
  const proto::Reflection& reflection = *settings.GetReflection();
  std::vector<const proto::FieldDescriptor*> given;
  reflection.ListFields(settings, &given);
  for (const proto::FieldDescriptor* field : given) {
    options[field->name()] = field->cpp_type() == proto::FieldDescriptor::CPPTYPE_BOOL
                                 ? static_cast<double>(reflection.GetBool(settings, field))
                                 : reflection.GetDouble(settings, field);
  }
  return options;
}

}  // namespace

std::string OptimizerName(const OptimizerSettings& settings) {
  const proto::FieldDescriptor* kind = KindOf(settings);
  return kind == nullptr ? "" : kind->message_type()->name();
}

OptimizerConfig MakeOptimizer(const OptimizerSettings& settings) {
  OptimizerConfig optimizer;
  optimizer.name = OptimizerName(settings);
  if (!settings.has_lbfgs()) optimizer.options = OptionsOf(settings);
  return optimizer;
}

OptimizerOptions GroupOptions(const ParameterGroupConfig& group) { return OptionsOf(group); }

Lbfgs::Options MakeLbfgsOptions(const OptimizerSettings::LBFGS& settings) {
  Lbfgs::Options options;
  options.lr = settings.lr();
  options.max_iterations = settings.max_iter();
  if (settings.has_max_eval()) options.max_evaluations = settings.max_eval();
  options.tolerance_gradient = settings.tolerance_grad();
  options.tolerance_change = settings.tolerance_change();
  options.history = settings.history_size();
  if (settings.line_search_fn() == OptimizerSettings::LBFGS::STRONG_WOLFE)
    options.line_search = Lbfgs::LineSearch::kStrongWolfe;
  return options;
}

}  // namespace onward::training
