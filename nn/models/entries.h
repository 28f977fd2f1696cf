// The rows of Models(), one file each.
#pragma once

#include "onward/models.h"

namespace onward::nn {

ModelEntry MlpEntry();
ModelEntry MnistCnnEntry();
ModelEntry CifarResNetEntry();
ModelEntry ResNet18Entry();
ModelEntry ResNet50Entry();
ModelEntry BertEntry();
ModelEntry GptEntry();
ModelEntry LstmLmEntry();
ModelEntry UnetEntry();

}  // namespace onward::nn
