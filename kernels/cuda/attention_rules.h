// The keys that a query attends, and where what says so lies.
#pragma once

#include "kernels/bind/attention.h"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

struct AttentionRules {
  const void* mask = nullptr;  // may be null
  DType mask_dtype = DType::kUndefined;
  const int64_t* counts = nullptr;  // nonpad_kv_seqlen; may be null
  bool causal = false;
  int64_t left = -1, right = -1;  // windows
  int64_t batch = 1, heads = 1;   // of the rules; 1 where all batches or heads have the same
  int64_t q_len = 0, past_len = 0, keys = 0;
  int64_t mask_batch = 0, mask_head = 0, mask_row = 0, mask_len = 0;
  DeviceFaultSite fault;
};

}  // namespace onward::kernels::cuda
