// Ops that are constant almost everywhere, or whose results are not floats: their inputs get none.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

constexpr training::GradientEntry kRules[] = {
    {"And", nullptr},
    {"ArgMax", nullptr},
    {"ArgMin", nullptr},
    {"Bernoulli", nullptr},
    {"BitCast", nullptr},
    {"BitShift", nullptr},
    {"Ceil", nullptr},
    {"Constant", nullptr},
    {"ConstantOfShape", nullptr},
    {"DynamicQuantizeLinear", nullptr},
    {"Equal", nullptr},
    {"EyeLike", nullptr},
    {"Floor", nullptr},
    {"Greater", nullptr},
    {"GreaterOrEqual", nullptr},
    {"Hardmax", nullptr},
    {"IsInf", nullptr},
    {"IsNaN", nullptr},
    {"Less", nullptr},
    {"LessOrEqual", nullptr},
    {"Multinomial", nullptr},
    {"NonMaxSuppression", nullptr},
    {"NonZero", nullptr},
    {"RandomNormalLike", nullptr},
    {"RandomUniformLike", nullptr},
    {"Round", nullptr},
    {"Shape", nullptr},
    {"Sign", nullptr},
    {"Size", nullptr},
};

}  // namespace

GradientList ConstantGradients() { return kRules; }

}  // namespace onward::gradient
