#include "kernels/bind/require_shape.h"

#include "absl/strings/str_replace.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

bool Fits(DimsView got, DimsView wanted, bool broadcasts) {
  if (!broadcasts) return got == wanted;
  const auto dims = BroadcastDims(got, wanted);
  return dims.ok() && DimsView(*dims) == wanted;
}

}  // namespace

RequireShapeAttributes RequireShapeAttributes::Parse(const NodeSpec& spec) {
  return {spec.attributes().String("message", ""), spec.attributes().Int("broadcasts", 0) != 0};
}

absl::Status BindRequireShape(BindContext& context, const RequireShapeAttributes& attributes) {
  const TensorView* expected = context.input_value(1);
  if (expected == nullptr) return context.Defer();
  const DimsView got = context.input_dims(0), wanted = expected->span<int64_t>();
  if (!Fits(got, wanted, attributes.broadcasts)) {
    std::string of;
    if (context.has_input(2) && context.input_value(2) != nullptr)
      of = DimsString(context.input_value(2)->span<int64_t>());
    return absl::InvalidArgumentError(absl::StrReplaceAll(
        attributes.message,
        {{"{got}", DimsString(got)}, {"{expected}", DimsString(wanted)}, {"{of}", of}}));
  }
  context.SetOutput(0, got);
  context.AliasOutput(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels
