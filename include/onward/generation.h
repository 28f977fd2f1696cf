// Text from models: all of it.
#pragma once

#include "onward/generation/beam_search.h"
#include "onward/generation/decoder.h"
#include "onward/generation/decoder_signature.h"
#include "onward/generation/generate.h"
#include "onward/generation/sampling.h"
#include "onward/vocabulary.h"
