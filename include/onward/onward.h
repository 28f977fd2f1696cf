// Everything of Onward's C++ interface but what libraries of operators need (custom_ops.h,
// gradient.h).
#pragma once

#include "onward/builder.h"
#include "onward/counters.h"
#include "onward/data_loader.h"
#include "onward/dataset.h"
#include "onward/device_tensor.h"
#include "onward/export.h"
#include "onward/generation.h"
#include "onward/import.h"
#include "onward/log.h"
#include "onward/models.h"
#include "onward/nn.h"
#include "onward/read_image.h"
#include "onward/session.h"
#include "onward/status.h"
#include "onward/stepwise_trainer.h"
#include "onward/tensor_text.h"
#include "onward/trace.h"
#include "onward/training.h"
#include "onward/version.h"
